package engine

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLastGoodRevisionStaysWhenTheNextIsBad(t *testing.T) {
	engine := New(Options{})
	if engine.Active() != nil {
		t.Fatal("an engine starts with a policy")
	}
	var swaps []string
	engine.Subscribe(func(r *Revision) { swaps = append(swaps, r.Digest()) })
	first, err := engine.Activate(context.Background(), starter())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Activate(context.Background(), withRego("package holdshort.policy\n\ndeny contains\n")); err == nil {
		t.Fatal("a syntax error was activated")
	}
	if engine.Active() != first {
		t.Error("a bad bundle replaced the good one")
	}
	second, err := engine.Activate(context.Background(), withFreeze())
	if err != nil || engine.Active() != second {
		t.Fatalf("the next good one: %v", err)
	}
	if diff := cmp.Diff([]string{first.Digest(), second.Digest()}, swaps); diff != "" {
		t.Errorf("swaps (-want +got):\n%s", diff)
	}
}

func TestSameContentIsNotReloaded(t *testing.T) {
	engine := New(Options{})
	first, err := engine.Activate(context.Background(), starter())
	if err != nil {
		t.Fatal(err)
	}
	engine.Subscribe(func(*Revision) { t.Error("swapped for the same content") })
	elsewhere := starter()
	elsewhere.Source = "elsewhere"
	if again, err := engine.Activate(context.Background(), elsewhere); err != nil || again != first {
		t.Errorf("activating the same again: %p, %v; want %p", again, err, first)
	}
}

func TestGateKeepsTheOldRevision(t *testing.T) {
	refused := errors.New("too many Jobs would be denied")
	gate := func(_ context.Context, old, candidate *Revision) error {
		if old == nil {
			return nil
		}
		if candidate == nil || old.Digest() == candidate.Digest() {
			t.Error("the gate does not see both revisions")
		}
		return refused
	}
	engine := New(Options{Gates: []Gate{gate}})
	first, err := engine.Activate(context.Background(), starter())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Activate(context.Background(), withFreeze()); !errors.Is(err, refused) {
		t.Errorf("error %v; want the gate's", err)
	}
	if engine.Active() != first {
		t.Error("the gate's no was ignored")
	}
	if back, err := engine.Restore(context.Background(), withFreeze()); err != nil || engine.Active() != back || back == first {
		t.Errorf("what was in force before is not restored past the gate: %v", err)
	}
}

func TestWhatACandidateSaysToAGateIsNoDecision(t *testing.T) {
	var decided []string
	gate := func(ctx context.Context, _, candidate *Revision) error {
		_, err := candidate.Classify(ctx, job())
		return err
	}
	engine := New(Options{Gates: []Gate{gate}, Observe: func(d Decision) {
		if d.Workload != nil {
			decided = append(decided, d.Revision)
		}
	}})
	revision, err := engine.Activate(context.Background(), starter())
	if err != nil || len(decided) != 0 {
		t.Fatalf("%v; %d decisions of a candidate", err, len(decided))
	}
	if _, err := revision.Classify(context.Background(), job()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{revision.Digest()}, decided); diff != "" {
		t.Errorf("decisions once it is in force (-want +got):\n%s", diff)
	}
}

func TestRevisionDoesNotChangeWithTheCallersFiles(t *testing.T) {
	bundle := starter()
	r := mustCompile(t, bundle)
	before := r.Digest()
	bundle.Files["data.yaml"][0] = 'X'
	r.Bundle().Files["data.yaml"][1] = 'X'
	if got := r.Bundle().Digest(); got != before {
		t.Errorf("digest of the kept text is %s, was %s", got, before)
	}
}

func TestKeptBundleComesBackTheSame(t *testing.T) {
	kept, err := withFreeze().Pack()
	if err != nil {
		t.Fatal(err)
	}
	again, err := withFreeze().Pack()
	if err != nil || !bytes.Equal(again, kept) {
		t.Errorf("packed twice, two results (%v)", err)
	}
	back, err := Unpack(kept)
	if diff := cmp.Diff(withFreeze(), back); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := Unpack([]byte("no gzip")); err == nil {
		t.Error("unpacked what was never packed")
	}
}

func TestDoubtfulPolicyIsActiveAndWarns(t *testing.T) {
	r := mustCompile(t, Bundle{Files: config("flavors: {a: {}}", "queues:", "  lab: {flavors: [a], quota: {}}",
		"teams:", "  research: {queue: lap}")})
	var got []string
	for _, p := range r.Warnings() {
		got = append(got, p.String())
	}
	want := []string{
		"data.yaml:5: queues.lab.namespaces: the queue takes no Job from anywhere. Try: {all: true}, {names: […]} or {labels: {…}}",
		`data.yaml:7: teams.research.queue: there is no queue "lap". Try: lab`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
