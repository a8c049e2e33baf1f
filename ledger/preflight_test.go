package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/policies"
)

// lives asks for the Jobs while the test's own goroutine turns the loop.
func (b *bench) lives() []rollout.Live {
	b.t.Helper()
	answer := make(chan []rollout.Live, 1)
	b.inbox.put(func(batch *batch) { batch.asked = append(batch.asked, answer) })
	b.step()
	return <-answer
}

func TestACandidateIsTriedOnEveryJobThatIsNotOver(t *testing.T) {
	b := newBench(t, map[string]string{
		"data.yaml": loopPolicy,
		"no.rego":   "package holdshort.policy\n\ndeny contains {\"code\": \"a.example/No\", \"message\": \"no\"} if input.workload.name == \"denied\"\n",
	})
	b.create("runs", 3)
	b.step()
	b.watch("runs") // as admitted
	b.create("waits", 2)
	b.create("denied", 1)
	type seen struct {
		Queue            string
		Admitted, Denied bool
		Holds            []rollout.Holding
	}
	got := map[string]seen{}
	for _, live := range b.lives() {
		if live.Verdict.Queue != "research" || live.Input.Workload == nil || live.Input.Namespace.Name != "a" {
			t.Errorf("%s is told as %+v", live.Name, live)
		}
		if waits := live.Hold; (waits != nil) == live.Admitted {
			t.Errorf("%s: what hold would be asked is %+v", live.Name, waits)
		} else if waits != nil {
			want := policies.UsageAmount{Used: 3, Reserved: 3, Nominal: 4, Limit: 4}
			if waits.Usage.Queue["nvidia.com/gpu"]["gpu"] != want || waits.Capacity["gpu"]["nvidia.com/gpu"].Allocatable != 8 || waits.NowNS == 0 {
				t.Errorf("%s: hold would be asked with %+v", live.Name, waits)
			}
		}
		got[live.Name] = seen{live.Queue, live.Admitted, live.Denied, live.Holds}
	}
	want := map[string]seen{
		"a/runs": {"research", true, false, []rollout.Holding{
			{Resource: "nvidia.com/gpu", Amount: 3, Flavors: map[string]string{"nvidia.com/gpu": "gpu", "pods": "gpu"}},
			{Resource: "pods", Amount: 3, Flavors: map[string]string{"nvidia.com/gpu": "gpu", "pods": "gpu"}},
		}},
		"a/waits":  {},
		"a/denied": {Denied: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the Jobs (-want +got):\n%s", diff)
	}
}

func TestACandidateIsGivenWhatWaitsAsItsUserWroteItAndAsItWouldBe(t *testing.T) {
	b := newMutateBench(t, mutatePackage+"labels[\"by\"] := \"active\"\n")
	b.create("runs", 3)
	b.step()
	b.watch("runs")
	b.create("waits", 2)
	other := policies.Mutation{Labels: map[string]string{"by": "candidate"}, NodeSelector: map[string]string{"disk": "nvme"}}
	seen := 0
	for _, live := range b.lives() {
		seen++
		if live.Input.Workload.Labels["by"] != "active" {
			t.Errorf("%s is told with labels %v", live.Name, live.Input.Workload.Labels)
		}
		if live.Name == "a/runs" {
			if live.Given != nil {
				t.Error("what runs would be given something else")
			}
			continue
		}
		written, err := live.Given(policies.Mutation{}, false)
		if err != nil {
			t.Fatal(err)
		}
		given, err := live.Given(other, true)
		if err != nil {
			t.Fatal(err)
		}
		type carried struct {
			Written, Given, Raw any
			Selector            map[string]string
		}
		want := carried{"", "candidate", "candidate", map[string]string{"disk": "nvme"}}
		got := carried{written.Workload.Labels["by"], given.Workload.Labels["by"],
			given.Job["metadata"].(map[string]any)["labels"].(map[string]any)["by"], given.Workload.PodSets[0].NodeSelector}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", live.Name, diff)
		}
	}
	if seen != 2 {
		t.Errorf("%d Jobs are told, want 2", seen)
	}
}
