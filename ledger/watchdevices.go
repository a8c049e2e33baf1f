package ledger

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watchDevices is the kinds of dynamic resource allocation that the server has.
func (l *Loop) watchDevices() []watched {
	var kinds []watched
	if l.DRA.Claims {
		kinds = append(kinds,
			watched{&resourceapi.ResourceSlice{}, marker(l.inbox, func(b *batch, name string, o *resourceapi.ResourceSlice) { b.devices.slices[name] = o })},
			watched{&resourceapi.DeviceClass{}, marker(l.inbox, func(b *batch, name string, o *resourceapi.DeviceClass) { b.devices.classes[name] = o })},
			watched{&resourceapi.ResourceClaimTemplate{}, l.markTemplate},
			watched{&resourceapi.ResourceClaim{}, l.markClaim})
	}
	if l.DRA.Rules {
		kinds = append(kinds,
			watched{&resourceapi.DeviceTaintRule{}, marker(l.inbox, func(b *batch, name string, o *resourceapi.DeviceTaintRule) { b.devices.rules[name] = o })})
	}
	return kinds
}

func (l *Loop) markTemplate(obj client.Object, gone bool) {
	template, name := obj.(*resourceapi.ResourceClaimTemplate), types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if gone {
		template = nil
	}
	l.inbox.put(func(b *batch) { b.devices.templates[name] = template })
}

func (l *Loop) markClaim(obj client.Object, gone bool) {
	claim, ok := obj.(*resourceapi.ResourceClaim)
	if !ok {
		return
	}
	l.inbox.put(func(b *batch) { b.devices.claims[claim.UID] = claimChange{claim, gone} })
}

// slimClaim drops what no decision reads: what drivers are told, and what they tell.
func slimClaim(obj any) (any, error) {
	claim, ok := obj.(*resourceapi.ResourceClaim)
	if !ok {
		return obj, nil
	}
	claim.ManagedFields = nil
	claim.Spec.Devices.Config, claim.Status.Devices = nil, nil
	if at := claim.Status.Allocation; at != nil {
		at.Devices.Config = nil
	}
	return claim, nil
}
