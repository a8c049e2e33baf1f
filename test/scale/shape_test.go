package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

func TestWholeShapeIsKueues(t *testing.T) {
	s := kueues(1)
	got := []any{s.jobs(), s.capacity(), s.queue(), s.least()}
	if diff := cmp.Diff([]any{15000, int64(600), int64(120), 66 * time.Second}, got); diff != "" {
		t.Errorf("Jobs, quota, most that one queue can hold, least time (-want +got):\n%s", diff)
	}
}

func TestSmallShapeHasJobsOfEveryClass(t *testing.T) {
	if got, want := kueues(0.001).jobs(), 3*5*6; got != want {
		t.Errorf("%d Jobs, want %d", got, want)
	}
}

func TestPolicyComesIntoForceWithoutWarnings(t *testing.T) {
	s := kueues(1)
	bundle := engine.Bundle{Files: map[string][]byte{"data.yaml": []byte(s.policy())}}
	revision, err := engine.Compile(t.Context(), bundle, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]engine.Problem{}, revision.Warnings(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	queue := revision.Catalog().Queues["queue-4-5"]
	if queue.Cohort != "cohort-4" || queue.Preemption.WithinQueue != policies.VictimsLowerPriority {
		t.Errorf("the last queue is %+v", queue)
	}
}
