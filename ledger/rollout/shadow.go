package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// askedMax is how many decisions may wait to be compared. What comes when it is
// full is dropped and counted: who decides never waits for the shadow.
const askedMax = 512

// Asked is a question that the policy in force was asked, and its answer. Nobody
// writes to what it points at any more.
type Asked struct {
	Revision *engine.Revision
	// Entrypoint: classify, mutate, deny, warn, hold or protect.
	Entrypoint string
	Input      *policies.Input
	// Given is the Job with what another policy gives it; nil: it keeps what it has.
	Given    policies.Given
	Verdict  policies.Verdict
	Mutation policies.Mutation
	Reasons  []policies.Reason
	Err      error
}

// Shadow is a second policy, asked the same as the one in force. What it answers
// is compared and told, and never anything else.
type Shadow struct {
	// Source of the second bundle.
	Source Source
	// Policy is the one in force.
	Policy func() *engine.Revision

	revision atomic.Pointer[engine.Revision]
	queue    chan Asked
	moved    chan moved
	tally    *tally
}

// moved is the time and the machines that a catalog may read.
type moved struct {
	revision *engine.Revision
	now      time.Time
	machines policies.CatalogCapacity
}

// NewShadow makes a shadow and registers its metrics.
func NewShadow(source Source, policy func() *engine.Revision, now func() time.Time, registry prometheus.Registerer) (*Shadow, error) {
	tally, err := newTally(now, registry)
	return &Shadow{Source: source, Policy: policy, queue: make(chan Asked, askedMax), moved: make(chan moved, 1), tally: tally}, err
}

// Hear takes note of a decision, without waiting for anything. Where there is no
// shadow, nobody listens.
func (s *Shadow) Hear(a Asked) {
	if s == nil {
		return
	}
	shadow := s.revision.Load()
	if shadow == nil || a.Revision == nil || shadow.Digest() == a.Revision.Digest() {
		return
	}
	select {
	case s.queue <- a:
	default:
		s.tally.drop(pair{a.Revision.Digest(), shadow.Digest()})
	}
}

// ReadsJob tells whether the shadow wants to see the raw Job.
func (s *Shadow) ReadsJob() bool {
	shadow := s.Revision()
	return shadow != nil && shadow.ReadsJob()
}

// HoldApplies tells whether the shadow can hold a workload with these labels, so
// that hold has to be asked for also where the policy in force has no such rule.
func (s *Shadow) HoldApplies(active *engine.Revision, labels map[string]string) bool {
	shadow := s.Revision()
	return shadow != nil && shadow.Digest() != active.Digest() && shadow.HoldApplies(labels)
}

// HasMutate tells whether the shadow would change any Job.
func (s *Shadow) HasMutate() bool {
	shadow := s.Revision()
	return shadow != nil && shadow.HasMutate()
}

// Revision that is asked beside the one in force; nil if there is none.
func (s *Shadow) Revision() *engine.Revision {
	if s == nil {
		return nil
	}
	return s.revision.Load()
}

// Refresh has the shadow's catalog evaluated again for a moment and the machines
// that there are then, without waiting for it. Only one may call it.
func (s *Shadow) Refresh(revision *engine.Revision, now time.Time, machines policies.CatalogCapacity) {
	select {
	case <-s.moved: // what waits is older
	default:
	}
	s.moved <- moved{revision, now, machines}
}

// work compares what was heard, one after the other, until ctx ends.
func (s *Shadow) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-s.moved:
			s.evaluate(ctx, m)
		case a := <-s.queue:
			select {
			case m := <-s.moved: // it was there before what was heard since
				s.evaluate(ctx, m)
			default:
			}
			s.compare(ctx, a)
		}
	}
}

// evaluate the catalog. If it fails, the last good one stands, as it would if the
// shadow were in force.
func (s *Shadow) evaluate(ctx context.Context, m moved) {
	if m.revision == nil || s.revision.Load() != m.revision {
		return // there was none, or it is another one meanwhile
	}
	err := s.evaluated(ctx, m)
	if ctx.Err() == nil {
		s.tally.catalog(m.revision.Digest(), err)
	}
}

func (s *Shadow) evaluated(ctx context.Context, m moved) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r) // it stays a shadow, whatever it does
		}
	}()
	_, err = m.revision.EvaluateCatalog(ctx, m.now, m.machines)
	return err
}

// compare asks the shadow what the policy in force was asked. A decision of a
// revision that is not in force any more says nothing about the one that is.
func (s *Shadow) compare(ctx context.Context, a Asked) {
	shadow, active := s.revision.Load(), s.Policy()
	if shadow == nil || active == nil || active.Digest() != a.Revision.Digest() {
		return
	}
	of := pair{active.Digest(), shadow.Digest()}
	defer func() {
		if r := recover(); r != nil {
			s.tally.drop(of) // it stays a shadow, whatever it does
		}
	}()
	found := differences(ctx, shadow, a)
	if ctx.Err() == nil {
		s.tally.add(of, nameOf(a.Input.Workload), found)
	}
}

// use another revision, or none.
func (s *Shadow) use(revision *engine.Revision) { s.revision.Store(revision) }

// bundle is what the shadow is, if it has this digest.
func (s *Shadow) bundle(digest string) (engine.Bundle, bool) {
	revision := s.revision.Load()
	if revision == nil || revision.Digest() != digest {
		return engine.Bundle{}, false
	}
	return revision.Bundle(), true
}

func nameOf(w *policies.Workload) string {
	if w.Name == "" {
		return w.Namespace + "/(unnamed)" // as it is created, with generateName
	}
	return w.Namespace + "/" + w.Name
}

// difference is one thing in which two policies disagree.
type difference struct{ kind, active, shadow string }

// Kinds of differences that are no field of the verdict and no set of reasons.
const differsInError = "error"

// differences between what the shadow says and what was said.
func differences(ctx context.Context, shadow *engine.Revision, a Asked) []difference {
	var verdict policies.Verdict
	var mutation policies.Mutation
	var reasons []policies.Reason
	in, err := underShadow(ctx, shadow, a)
	if err != nil {
		return nil // of mutate or classify, which are compared by themselves
	}
	switch a.Entrypoint {
	case "classify":
		verdict, err = shadow.Classify(ctx, in)
	case "mutate":
		mutation, err = shadow.Mutate(ctx, in)
	case "deny":
		reasons, err = shadow.Deny(ctx, in)
	case "warn":
		reasons, err = shadow.Warn(ctx, in)
	case "hold":
		reasons, err = shadow.Hold(ctx, in)
	case "protect":
		reasons, err = shadow.Protect(ctx, in)
	}
	switch {
	case err != nil && a.Err != nil:
		return nil // neither has an answer
	case err != nil || a.Err != nil:
		return []difference{{differsInError, a.Entrypoint + ": " + told(a.Err), a.Entrypoint + ": " + told(err)}}
	case a.Entrypoint == "classify":
		return inVerdict(a.Verdict, verdict)
	case a.Entrypoint == "mutate":
		return inMutation(a.Mutation, mutation)
	}
	// Where one policy says more of what the other says too, both stop the Job.
	if codes(a.Reasons) != codes(reasons) {
		return []difference{{a.Entrypoint, said(a.Reasons), said(reasons)}}
	}
	return nil
}

// underShadow is the question as it would be if the shadow were in force: what the
// policy in force gave the Job is gone, and what the shadow gives is there; hold sees
// the shadow's verdict.
func underShadow(ctx context.Context, shadow *engine.Revision, a Asked) (*policies.Input, error) {
	ctx = engine.Quietly(ctx)
	in := *a.Input
	if a.Given != nil && (a.Revision.HasMutate() || shadow.HasMutate()) {
		given, err := under(ctx, shadow, a.Given)
		if err != nil {
			return nil, err
		}
		in.Workload, in.Job = given.Workload, given.Job
	}
	if a.Entrypoint == "hold" {
		verdict, err := shadow.Classify(ctx, &in)
		if err != nil {
			return nil, err
		}
		in.Verdict = verdict.Input()
	}
	return &in, nil
}

func told(err error) string {
	var failed *engine.EvalError
	switch {
	case err == nil:
		return "has an answer"
	case errors.As(err, &failed):
		return failed.Error()
	}
	return err.Error()
}

func inVerdict(active, shadow policies.Verdict) []difference {
	var found []difference
	for _, field := range []struct{ kind, active, shadow string }{
		{"queue", active.Queue, shadow.Queue},
		{"priority", fmt.Sprint(active.Priority), fmt.Sprint(shadow.Priority)},
		{"order", fmt.Sprint(active.Order), fmt.Sprint(shadow.Order)},
		{"flavors", strings.Join(active.Flavors, ", "), strings.Join(shadow.Flavors, ", ")},
		{"user", active.User, shadow.User},
	} {
		if field.active != field.shadow {
			found = append(found, difference(field))
		}
	}
	return found
}

// inMutation is one difference, whatever differs; both sides say all of it.
func inMutation(active, shadow policies.Mutation) []difference {
	was, would := mutationText(active), mutationText(shadow)
	if was == would {
		return nil
	}
	return []difference{{"mutate", was, would}}
}

func mutationText(m policies.Mutation) string {
	text, err := json.Marshal(m) // keys of maps come out sorted
	switch {
	case err != nil:
		return err.Error()
	case string(text) == "{}":
		return "nothing"
	}
	return string(text)
}

// codes are what reasons are about; messages have numbers that change.
func codes(reasons []policies.Reason) string {
	var list []string
	for _, r := range reasons {
		list = append(list, r.Code)
	}
	return strings.Join(list, " ")
}

func said(reasons []policies.Reason) string {
	if len(reasons) == 0 {
		return "nothing"
	}
	var list []string
	for _, r := range reasons {
		text := r.Code + ": " + r.Message
		if r.RuleAt != "" {
			text += " (" + r.RuleAt + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}
