package engine

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdshort/holdshort/policies"
)

func TestAnEvaluationThatDoesNotHearIsLeftAlone(t *testing.T) {
	p := newPool(1)
	var stuck atomic.Int32
	given, release := make(chan struct{}), make(chan struct{})
	close(given)
	if p.run(func() { <-release }, given, &stuck) {
		t.Fatal("what has not ended is said to have")
	}
	if got := stuck.Load(); got != 1 {
		t.Errorf("%d evaluations are stuck, want 1", got)
	}
	never := make(chan struct{})
	ran := false
	if !p.run(func() { ran = true }, never, &stuck) || !ran {
		t.Error("the next one has to wait for it")
	}
	close(release)
	for end := time.Now().Add(10 * time.Second); stuck.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it ended, and still counts as stuck")
		}
	}
}

func TestNoMoreIsBegunWhenTooManyCannotBeStopped(t *testing.T) {
	r := mustCompile(t, withRego("package holdshort.policy\n\ndeny contains {\"code\": \"a.example/B\", \"message\": \"no\"} if input.workload.name == \"x\"\n"))
	in := &policies.Input{Workload: &policies.Workload{Name: "x"}, Namespace: &policies.Namespace{}}
	probe := r.probes[groupDeny]
	probe.stuck.Store(stuckMax)
	_, err := r.Deny(t.Context(), in)
	var failed *EvalError
	if !errors.As(err, &failed) || failed.Code != EvalDeadline || !strings.Contains(failed.Message, "restart") {
		t.Fatalf("got %v, want a deadline error that says to restart", err)
	}
	probe.stuck.Store(0)
	if reasons, err := r.Deny(t.Context(), in); err != nil || len(reasons) != 1 {
		t.Errorf("once they have ended it answers %v %v, want one reason", reasons, err)
	}
}

func TestACallThatNothingCanStopIsRefused(t *testing.T) {
	problems := refusal(t, withRego("package holdshort.policy\n\ndeny contains {\"code\": \"a.example/B\", \"message\": \"no\"} if bits.lsh(1, 12000000000) < 0\n"), Options{}).Error()
	if !strings.Contains(problems, "bits.lsh") || !strings.Contains(problems, "multiply") {
		t.Errorf("it is refused by %q, want bits.lsh and what to do instead", problems)
	}
}
