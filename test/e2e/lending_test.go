//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

// lendingPolicy has two queues that own 4 of the 8 GPUs each and lend each other what
// they don't use.
const lendingPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    classes:
      urgent: {priority: 1000}
    cohorts:
      all: {}
    queues:
      blue: &queue
        cohort: all
        namespaces: {names: [%[1]s]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
        preemption: {withinQueue: LowerPriority, reclaimWithinCohort: Any}
      red: *queue
`

func lending(ns string) string { return fmt.Sprintf(lendingPolicy, ns) }

func lendingLimits() []history.Limit {
	return []history.Limit{
		{Queue: "blue", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 8},
		{Queue: "red", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 8},
	}
}

func preempted(t *testing.T, s *stories.Scene, name string) string {
	t.Helper()
	j, err := s.Job(t.Context(), name)
	must(t, err)
	return j.Annotations[policies.AnnotationPreempted]
}

// The owner's Job starts when the last pod of the borrower's is gone, not before; the
// borrower waits in its old place and runs again when there is room.
func TestAnOwnerGetsBackWhatItLent(t *testing.T) {
	ctx, s := scene(t, "lending", lending("lending"), lendingLimits()...)
	apply := func(jobs ...job) {
		t.Helper()
		for _, j := range jobs {
			_, err := s.Apply(ctx, j.yaml())
			must(t, err)
		}
	}
	apply(job{name: "first", queue: "red", pods: 4, gpus: 1, run: "24h"})
	must(t, s.Running(ctx, "first", 4))
	apply(job{name: "borrower", queue: "red", pods: 4, gpus: 1, run: "24h"})
	must(t, s.Running(ctx, "borrower", 4))
	must(t, s.Eventually(ctx, "red borrows what blue lends", func(ctx context.Context) (bool, string) {
		out, err := s.Plugin(ctx, cluster.Admin, "queues", "blue", "red", "--no-headers")
		words := strings.Join(strings.Fields(out), " ")
		return err == nil && strings.Contains(words, "0/4 nvidia.com/gpu on gpu lends 4 0") &&
			strings.Contains(words, "8/4 nvidia.com/gpu on gpu borrows 4 0"), out
	}))
	apply(job{name: "owner", queue: "blue", pods: 2, gpus: 1, run: "24h"})
	must(t, s.Running(ctx, "owner", 2))
	if preempted(t, s, "borrower") == "" || preempted(t, s, "first") != "" {
		t.Error("who started last was to make room, and nobody else")
	}
	must(t, s.Waits(ctx, "borrower", "WaitingForQuota"))
	must(t, s.NoPods(ctx, "borrower"))
	out, err := s.Plugin(ctx, cluster.Alice, "explain", "job/borrower", "-n", s.NS)
	must(t, err)
	if gave := s.NS + "/owner of queue blue, which takes back what is its own (InCohortReclamation); it runs"; !strings.Contains(out, gave) {
		t.Errorf("it does not say for whom it was taken back:\n%s", out)
	}
	_, err = s.Kubectl(ctx, "delete", "job", "first", "--cascade=foreground")
	must(t, err)
	must(t, s.Running(ctx, "borrower", 4))
	if record := preempted(t, s, "borrower"); record != "" {
		t.Errorf("it runs again, and still says that it made room: %s", record)
	}
}

// The manager dies when it has taken somebody back; the room is kept all the same.
func TestRoomThatWasMadeIsKeptOverARestart(t *testing.T) {
	ctx, s := scene(t, "lending-kept", lending("lending-kept"), lendingLimits()...)
	slow := job{name: "borrower", queue: "red", pods: 8, gpus: 1, run: "24h", stop: "6s"}
	_, err := s.Apply(ctx, slow.yaml())
	must(t, err)
	must(t, s.Running(ctx, "borrower", 8))
	_, err = s.Apply(ctx, job{name: "owner", queue: "blue", pods: 4, gpus: 1, run: "24h"}.yaml())
	must(t, err)
	must(t, s.Says(ctx, "owner", "MakingRoom"))
	out, err := s.Plugin(ctx, cluster.Alice, "explain", "job/owner", "-n", s.NS)
	must(t, err)
	if !strings.Contains(out, "Room of   "+s.NS+"/borrower of queue red, taken back") {
		t.Errorf("it does not say whose pods it waits for:\n%s", out)
	}
	s.Manager.Kill()
	// Comes first in its own queue, and would fit where the borrower was.
	_, err = s.Apply(ctx, job{name: "thief", queue: "red", priority: "urgent", pods: 8, gpus: 1, run: "24h"}.yaml())
	must(t, err)
	must(t, s.Manager.Start(ctx))
	must(t, s.Running(ctx, "owner", 4))
	j, err := s.Job(ctx, "owner")
	must(t, err)
	if r := reservation(t, j); r.PodSets[0].FlavorOf("nvidia.com/gpu") != "gpu" {
		t.Errorf("the owner runs on %v", r.PodSets[0].Flavors)
	}
	must(t, s.NoPods(ctx, "thief"))
}

// Of those that may go, the least important and then who started last goes, where the
// pods really fit.
func TestAnUrgentJobTakesTheCheapestPlace(t *testing.T) {
	ctx, s := scene(t, "lending-cheap", lending("lending-cheap"), lendingLimits()...)
	for _, j := range []job{
		{name: "old", queue: "blue", pods: 2, gpus: 1, run: "24h"},
		{name: "important", queue: "blue", priority: "urgent", pods: 2, gpus: 1, run: "24h"},
		{name: "new", queue: "blue", pods: 2, gpus: 1, run: "24h"},
		{name: "lent", queue: "blue", pods: 2, gpus: 1, run: "24h"},
	} {
		_, err := s.Apply(ctx, j.yaml())
		must(t, err)
		must(t, s.Running(ctx, j.name, 2))
	}
	_, err := s.Apply(ctx, job{name: "urgent", queue: "blue", priority: "urgent", pods: 4, gpus: 1, run: "24h"}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "urgent", 4))
	for name, goes := range map[string]bool{"old": false, "important": false, "new": true, "lent": true} {
		j, err := s.Job(ctx, name)
		must(t, err)
		if *j.Spec.Suspend != goes {
			t.Errorf("%s suspended: %t", name, *j.Spec.Suspend)
		}
	}
}
