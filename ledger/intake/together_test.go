package intake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

const twoCards = "{requests: [{name: r, exactly: {deviceClassName: gpu.example.com, count: 2}}]}"

// sharing is a Job of three pods with one claim, and what else is in their spec.
func sharing(t *testing.T, spec string) *batchv1.Job {
	t.Helper()
	job := jobOf(t, "{containers: [{name: a, resources: {requests: {cpu: 500m}, limits: {cpu: 1}}}], resourceClaims: [{name: x, resourceClaimName: c}"+spec+"}")
	three := int32(3)
	job.Spec.Parallelism = &three
	return job
}

// Pods that share a claim which nobody has had allocated yet go to one node: they are
// one thing of three pods, with the devices once. Policies see pods all the same.
func TestPodsThatShareAClaimGoTogether(t *testing.T) {
	got := intake.Job(sharing(t, "]"), intake.Env{Claims: claimWorld(t, twoCards, "{}").OfJob})
	if got.Problem != nil {
		t.Fatalf("problem: %s", got.Problem.Message)
	}
	set := got.PodSets[0]
	is := [3]int64{set.Count, set.Together, set.Pods()}
	if want := [3]int64{1, 3, 3}; is != want {
		t.Errorf("count, together and pods: %v, want %v", is, want)
	}
	if want := (demand.Topology{Level: "kubernetes.io/hostname", Required: true}); set.Topology != want {
		t.Errorf("topology %v, want %v", set.Topology, want)
	}
	each, limits := set.Each()
	for name, c := range map[string]struct{ got, want resource.List }{
		"requests of all": {set.Requests, resource.List{"cpu": 1500, "pods": 3, "example.com/gpu": 2}},
		"limits of all":   {set.Limits, resource.List{"cpu": 3000}},
		"requests of one": {each, resource.List{"cpu": 500, "pods": 1}},
		"limits of one":   {limits, resource.List{"cpu": 1000}},
		"devices":         {set.Place.Devices, resource.List{"devices:of 1 claims": 2}},
		"policy, of one":  {got.Policy.PodSets[0].Requests, resource.List{"cpu": 500, "pods": 1, "example.com/gpu": 2}},
		"policy, of all":  {got.Policy.Total, resource.List{"cpu": 1500, "pods": 3, "example.com/gpu": 2}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if n := got.Policy.PodSets[0].Count; n != 3 {
		t.Errorf("the policy sees %d pods, want 3", n)
	}
}

func TestPodsThatShareAClaimAndCannotMeetAreTold(t *testing.T) {
	for name, c := range map[string]struct{ spec, says string }{
		"devices of their own": {", {name: y, resourceClaimTemplateName: t}]", "resourceClaims[x]: several pods of the Job share it, which is not allocated yet, and have devices of their own besides"},
		"host ports": {
			"], initContainers: [{name: b, restartPolicy: Always, ports: [{containerPort: 80, hostPort: 80}]}]", "host ports or anti-affinity",
		},
		"anti-affinity": {
			"], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}]}}",
			"3 pods share a claim for devices",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := intake.Job(sharing(t, c.spec), intake.Env{Claims: claimWorld(t, twoCards, "{}").OfJob})
			if got.Problem == nil || got.Problem.Code != reason.BadRequest {
				t.Fatalf("problem %v, want a BadRequest", got.Problem)
			}
			wantSays(t, got.Problem.Message, c.says, "Try: ")
		})
	}
}
