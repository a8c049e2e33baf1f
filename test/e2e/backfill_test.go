//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const backfillPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      holes:
        namespaces: {names: [holes]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
        strategy: Backfill
`

// admittedAt is when the ledger last let a Job go; false: it never did.
func admittedAt(t *testing.T, ctx context.Context, s *stories.Scene, name string) (time.Time, bool) {
	t.Helper()
	j, err := s.Job(ctx, name)
	must(t, err)
	if j.Annotations[policies.AnnotationReservation] == "" {
		return time.Time{}, false
	}
	return time.Unix(0, reservation(t, j).Time), true
}

// within is more of a Job's spec: a deadline.
func within(n int) string { return fmt.Sprintf("  activeDeadlineSeconds: %d\n", n) }

// A big Job needs all of the queue, and small ones would keep it waiting for ever:
// there are always two of them in the hole beside a long one, and the next ones wait.
// Its room is booked for when the long one must end, and it starts then. Until then,
// whoever is over by then uses the hole.
func TestABigJobIsNotStarvedUnderBackfillAndSmallOnesUseTheHoles(t *testing.T) {
	const deadline, limit, stream = 25, 5, 20
	ctx, s := scene(t, "holes", backfillPolicy, history.Limit{Queue: "holes", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 4})
	_, err := s.Apply(ctx, job{name: "long", queue: "holes", pods: 2, gpus: 1, spec: within(deadline)}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "long", 2))
	start, _ := admittedAt(t, ctx, s, "long")
	booked := start.Add(deadline * time.Second)

	var file strings.Builder
	for _, j := range []job{
		{name: "big", pods: 4, run: "2s"},
		{name: "slow", pods: 1, run: "1s", spec: within(3600)},
		{name: "open", pods: 1, run: "1s"},
		{name: "short", pods: 1, run: "2s", spec: within(limit)},
		{name: "annotated", pods: 1, run: "2s", annotations: fmt.Sprintf(`{%s: "%d"}`, policies.AnnotationMaxRuntime, limit)},
	} {
		j.queue, j.gpus = "holes", 1
		file.WriteString(j.yaml())
	}
	small := []string{"short", "annotated"}
	for i := range stream {
		small = append(small, fmt.Sprint("small-", i))
		file.WriteString(job{name: small[len(small)-1], queue: "holes", pods: 1, gpus: 1, run: "2s", spec: within(limit)}.yaml())
	}
	_, err = s.Apply(ctx, file.String())
	must(t, err)
	must(t, s.Waits(ctx, "big", "WaitingForQuota"))
	for name, advice := range map[string]string{"slow": "a shorter spec.activeDeadlineSeconds", "open": "a spec.activeDeadlineSeconds that is over by then"} {
		must(t, s.Waits(ctx, name, "BehindOthers"))
		text, err := s.Plugin(ctx, cluster.Alice, "explain", "job/"+name, "-n", s.NS)
		must(t, err)
		must(t, stories.Contains(text, "it would be in the way of holes/big, which starts at "+booked.UTC().Format(time.RFC3339)+" at the latest", "Try: "+advice))
	}

	must(t, s.Running(ctx, "big", 4))
	began, _ := admittedAt(t, ctx, s, "big")
	// Between the deadline and the room being free, there are the Job's controller and the pods' end.
	if late := began.Sub(booked); late > 5*time.Second {
		t.Errorf("it starts %v after the moment it was booked for", late)
	}
	used := map[string]bool{}
	for _, name := range small {
		if at, ok := admittedAt(t, ctx, s, name); ok && at.Before(began) {
			used[name] = true
			if over := at.Add(limit * time.Second); over.After(booked) {
				t.Errorf("%s may run until %v, and the head's room is booked for %v", name, over, booked)
			}
		}
	}
	if !used["short"] || !used["annotated"] || len(used) < 4 || len(used) == len(small) {
		t.Errorf("%d of %d small ones started before it, %v: they were to use the hole, and not to keep it waiting", len(used), len(small), used)
	}
	for _, name := range []string{"slow", "open"} {
		must(t, s.Finished(ctx, name))
		if at, _ := admittedAt(t, ctx, s, name); at.Before(began) {
			t.Errorf("%s started at %v, before the head at %v", name, at, began)
		}
	}
}
