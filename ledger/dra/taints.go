package dra

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// SetTaintRule is a new or changed DeviceTaintRule.
func (s *State) SetTaintRule(rule *resourceapi.DeviceTaintRule) {
	old := s.rules[rule.Name]
	s.rules[rule.Name] = rule
	s.taintAgain(old, rule)
}

// DeleteTaintRule forgets one.
func (s *State) DeleteTaintRule(name string) {
	old := s.rules[name]
	delete(s.rules, name)
	s.taintAgain(old)
}

// taintAgain goes over the slices that one of the rules speaks of.
func (s *State) taintAgain(rules ...*resourceapi.DeviceTaintRule) {
	for _, l := range s.slices {
		concerned := func(rule *resourceapi.DeviceTaintRule) bool { return rule != nil && concerns(rule, l.object) }
		if !slices.ContainsFunc(rules, concerned) {
			continue
		}
		l.tainted = s.taint(l.object)
		for i := range l.devices {
			l.devices[i].spec = &l.tainted.Spec.Devices[i]
		}
		s.poolChanged(l)
	}
}

// taint is the slice with the taints of all rules, itself if there are none. Their
// order does not matter: each has to be tolerated.
func (s *State) taint(object *resourceapi.ResourceSlice) *resourceapi.ResourceSlice {
	tainted := object
	for _, rule := range s.rules {
		if !concerns(rule, object) {
			continue
		}
		if tainted == object {
			tainted = copyTaints(object)
		}
		for i := range tainted.Spec.Devices {
			d := &tainted.Spec.Devices[i]
			if only := rule.Spec.DeviceSelector.Device; only == nil || *only == d.Name {
				d.Taints = append(d.Taints, rule.Spec.Taint)
			}
		}
	}
	return tainted
}

// copyTaints copies what taint writes to and no more: slices are large.
func copyTaints(object *resourceapi.ResourceSlice) *resourceapi.ResourceSlice {
	made := *object
	made.Spec.Devices = slices.Clone(object.Spec.Devices)
	for i := range made.Spec.Devices {
		made.Spec.Devices[i].Taints = slices.Clone(made.Spec.Devices[i].Taints)
	}
	return &made
}

// concerns tells whether a rule may be about devices of a slice. One without a
// selector is about nothing; what a selector leaves out is any.
func concerns(rule *resourceapi.DeviceTaintRule, object *resourceapi.ResourceSlice) bool {
	which := rule.Spec.DeviceSelector
	return which != nil &&
		(which.Driver == nil || *which.Driver == object.Spec.Driver) &&
		(which.Pool == nil || *which.Pool == object.Spec.Pool.Name)
}

// keepsOff tells whether a taint keeps new claims away. Effects that are not known
// do not, None among them.
func keepsOff(d *resourceapi.Device, tolerations []resourceapi.DeviceToleration) bool {
	for i := range d.Taints {
		taint := d.Taints[i]
		if taint.Effect != resourceapi.DeviceTaintEffectNoSchedule && taint.Effect != resourceapi.DeviceTaintEffectNoExecute {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(t resourceapi.DeviceToleration) bool { return resourceclaim.ToleratesTaint(t, taint) }) {
			return true
		}
	}
	return false
}
