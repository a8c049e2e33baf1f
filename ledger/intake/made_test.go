package intake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/nsquota"
	"github.com/holdshort/holdshort/ledger/supply"
)

// The API server counts a claim at the most that it may get, by class, also one of an
// administrator; one that is there already is counted already.
func TestClaimsThatAreMadeAreCountedAsTheAPIServerDoes(t *testing.T) {
	templates := map[string]string{
		"cards": `{spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu, count: 2}}, {name: b, exactly: {deviceClassName: mig, count: 1}}]}}}`,
		"all":   `{spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu, allocationMode: All}}]}}}`,
		"admin": `{spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu, count: 3, adminAccess: true}}]}}}`,
		"either": `{spec: {devices: {requests: [{name: a, firstAvailable: [
			{name: x, deviceClassName: gpu, count: 4}, {name: y, deviceClassName: gpu, count: 2}, {name: z, deviceClassName: mig, count: 5}]}]}}}`,
	}
	look := intake.Claims{
		Template: func(_, name string) *resourceapi.ResourceClaimTemplate {
			return parse[resourceapi.ResourceClaimTemplate](t, "spec: "+templates[name])
		},
		Claim: func(_, name string) *resourceapi.ResourceClaim {
			if name != "shared" {
				return nil
			}
			return parse[resourceapi.ResourceClaim](t, `spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu, count: 7}}]}}`)
		},
		Class: func(string) *resourceapi.DeviceClass { return &resourceapi.DeviceClass{} },
	}
	for claims, want := range map[string]demand.Claims{
		"{name: c, resourceClaimTemplateName: cards}":                                             "1,gpu=2,mig=1",
		"{name: c, resourceClaimTemplateName: all}":                                               "1,gpu=32",
		"{name: c, resourceClaimTemplateName: admin}":                                             "1,gpu=3",
		"{name: c, resourceClaimTemplateName: either}":                                            "1,gpu=4,mig=5",
		"{name: c, resourceClaimName: shared}":                                                    "",
		"{name: c, resourceClaimTemplateName: all}, {name: d, resourceClaimTemplateName: either}": "2,gpu=36,mig=5",
	} {
		spec := "{resourceClaims: [" + claims + "], containers: [{name: a}]}"
		if got := look.OfJob(jobOf(t, spec)).Made; got != want {
			t.Errorf("a Job with %s: %q, want %q", claims, got, want)
		}
		pod := &supply.Pod{Requests: map[string]int64{}}
		look.OfPod(pod, parse[corev1.Pod](t, "spec: "+spec))
		if got := pod.Terms.Claims; got != want {
			t.Errorf("a pod with %s: %q, want %q", claims, got, want)
		}
	}
}

// A pod on a node drew what the scheduler claimed for it, and nothing else.
func TestWhatTheSchedulerClaimedForAPodCounts(t *testing.T) {
	quota := intake.NamespaceQuota(parse[corev1.ResourceQuota](t, `spec: {hard: {
		gpu.deviceclass.resource.k8s.io/devices: 9, old.deviceclass.resource.k8s.io/devices: 9, requests.nvidia.com/gpu: 9,
		requests.deviceclass.resource.kubernetes.io/gpu: 9, count/resourceclaims.resource.k8s.io: 9}}`), gpuClasses())
	const devices, old, written, implied, objects = "gpu.deviceclass.resource.k8s.io/devices", "old.deviceclass.resource.k8s.io/devices",
		"requests.nvidia.com/gpu", "requests." + gpuImplied, "count/resourceclaims.resource.k8s.io"
	for name, c := range map[string]struct {
		limits map[string]int64
		claims demand.Claims
		draws  bool
		want   map[string]int64
	}{
		"from a plugin":              {limits: map[string]int64{"nvidia.com/gpu": 2}, want: map[string]int64{devices: 0, old: 0, written: 2, implied: 0, objects: 0}},
		"out of devices":             {limits: map[string]int64{"nvidia.com/gpu": 2}, draws: true, want: map[string]int64{devices: 2, old: 0, written: 2, implied: 2, objects: 1}},
		"by the name of a class":     {limits: map[string]int64{gpuImplied: 2}, draws: true, want: map[string]int64{devices: 2, old: 0, written: 2, implied: 2, objects: 1}},
		"by both names":              {limits: map[string]int64{gpuImplied: 1, "nvidia.com/gpu": 2}, draws: true, want: map[string]int64{devices: 3, old: 0, written: 3, implied: 3, objects: 1}},
		"by claims":                  {claims: "2,gpu=3,old=1", want: map[string]int64{devices: 3, old: 1, written: 4, implied: 3, objects: 2}},
		"by a claim, and containers": {claims: "1,gpu=3", limits: map[string]int64{"nvidia.com/gpu": 2}, draws: true, want: map[string]int64{devices: 5, old: 0, written: 5, implied: 5, objects: 2}},
	} {
		got := map[string]int64{}
		for i := range quota.Rows {
			got[quota.Rows[i].Name] = quota.Rows[i].Takes(&nsquota.Pod{Limits: c.limits, Terms: demand.Terms{Claims: c.claims}, Draws: func(string) bool { return c.draws }})
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
