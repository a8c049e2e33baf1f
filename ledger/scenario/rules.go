package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdshort/holdshort/ledger/answer"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// rules is a policy as it judges the Jobs of a script.
type rules struct {
	ctx      context.Context
	revision *engine.Revision
	script   *script
	jobs     map[string]*asked
	minute   int64 // that the catalog was evaluated for
	capacity policies.CatalogCapacity
	failed   error // of the catalog
}

// asked is a Job, and what rules see of it.
type asked struct {
	is      *demand.Job
	in      policies.Input
	said    error // of mutate
	verdict policies.Verdict
}

// take reads a Job as the intake does, with what mutate changes.
func (r *rules) take(spec *jobSpec, name string) (*sim.Workload, error) {
	written, env := r.script.manifest(spec, name), r.script.env(r.revision.Catalog())
	a := &asked{is: intake.Job(written, env)}
	labels := r.script.Namespaces[spec.Namespace]
	if labels == nil {
		labels = map[string]string{}
	}
	a.in = policies.Input{Workload: a.is.Policy, Namespace: &policies.Namespace{Name: spec.Namespace, Labels: labels}}
	r.jobs[name] = a
	job := written
	if r.revision.HasMutate() {
		raw, err := intake.RawJob(written)
		if err != nil {
			return nil, err
		}
		in := a.in
		in.Job = raw
		var wants policies.Mutation
		if wants, a.said = r.revision.Mutate(r.ctx, &in); a.said == nil {
			job, _ = intake.Mutate(written, wants)
			a.is = intake.Job(job, env)
		}
	}
	if r.revision.ReadsJob() {
		raw, err := intake.RawJob(job)
		if err != nil {
			return nil, err
		}
		a.in.Job = raw
	}
	a.in.Workload = a.is.Policy
	runs := r.script.moment(spec.Runs) - r.script.starts
	if deadline := a.is.Policy.ActiveDeadlineSec * int64(time.Second); deadline > 0 && (runs == 0 || deadline < runs) {
		runs = deadline // the Job controller ends it
	}
	return &sim.Workload{
		UID: name, Namespace: spec.Namespace, Name: name, PodSets: a.is.PodSets, Policy: a.is.Policy, Runs: runs,
		Verdict: policies.Verdict{Queue: spec.Queue},
	}, nil
}

// hooks are the rules as the simulation asks for them.
func (r *rules) hooks() sim.Rules {
	h := sim.Rules{Judge: r.judge, Catalog: r.catalog}
	if r.revision.HasHold() {
		h.Hold = r.hold
	}
	if r.revision.HasProtect() {
		h.Protect = r.protect
	}
	if r.readsTime() {
		h.Every = int64(time.Minute)
	}
	return h
}

func (r *rules) readsTime() bool {
	return slices.ContainsFunc([]string{"catalog", "classify", "deny", "hold", "protect"}, func(entrypoint string) bool {
		return r.revision.ReadsPart(entrypoint, "now_ns")
	})
}

func (r *rules) judge(w *sim.Workload, _ int64) decide.Outcome {
	a := r.jobs[w.UID]
	if a.is.Problem != nil {
		return decide.Outcome{Reason: a.is.Problem}
	}
	if a.said != nil {
		return decide.Outcome{Reason: answer.Failed(a.said)}
	}
	in := a.in
	verdict, err := r.revision.Classify(r.ctx, &in)
	if err != nil {
		return decide.Outcome{Reason: answer.Failed(err)}
	}
	a.verdict = verdict
	denied, err := r.revision.Deny(r.ctx, &in)
	switch {
	case err != nil:
		return decide.Outcome{Verdict: verdict, Reason: answer.Failed(err)}
	case len(denied) > 0:
		return decide.Outcome{Verdict: verdict, Reason: answer.No(reason.DeniedByPolicy, denied)}
	}
	return decide.Outcome{Verdict: verdict}
}

func (r *rules) hold(q sim.Question) decide.HoldAnswer {
	a := r.jobs[q.Workload.UID]
	if !r.revision.HoldApplies(a.in.Workload.Labels) {
		return decide.HoldAnswer{}
	}
	in := a.in
	in.NowNS, in.Verdict, in.Usage, in.Capacity = q.Now, a.verdict.Input(), &q.Usage, q.Capacity
	held, err := r.revision.Hold(r.ctx, &in)
	switch {
	case err != nil:
		return decide.HoldAnswer{Reason: answer.Failed(err)}
	case len(held) > 0:
		return decide.HoldAnswer{Reason: answer.No(reason.HeldByPolicy, held)}
	}
	return decide.HoldAnswer{}
}

func (r *rules) protect(ask decide.ProtectAsk, now int64) decide.ProtectAnswer {
	victim, by := r.jobs[ask.Victim], r.jobs[ask.By]
	why, err := r.revision.Protect(r.ctx, &policies.Input{
		Workload: victim.in.Workload, NowNS: now,
		Victim: &policies.Victim{
			Workload: victim.in.Workload, Verdict: victim.verdict.Input(), AdmittedNS: ask.Admitted,
			RanSec: max(0, now-ask.Admitted) / int64(time.Second), Flavors: ask.Flavors, Borrowing: ask.Borrowing,
		},
		Incoming: &policies.Incoming{Workload: by.in.Workload, Verdict: by.verdict.Input()},
	})
	switch {
	case err != nil:
		return decide.ProtectAnswer{Reason: answer.Failed(err)}
	case len(why) > 0:
		return decide.ProtectAnswer{Reason: answer.No(reason.HeldByPolicy, why)}
	}
	return decide.ProtectAnswer{}
}

// catalog is that of the minute and of the machines that there are. As in the
// manager, the last good one stands if it fails.
func (r *rules) catalog(now int64, stock sim.Stock) (*policies.Catalog, bool) {
	moved := false
	if minute := now - now%int64(time.Minute); minute != r.minute && r.revision.ReadsPart("catalog", "now_ns") {
		r.minute, moved = minute, true
	}
	if r.revision.ReadsPart("catalog", "capacity") {
		if counted := stock(r.revision.Catalog()); !equal(counted, r.capacity) {
			r.capacity, moved = counted, true
		}
	}
	if !moved {
		return r.revision.Catalog(), false
	}
	catalog, err := r.revision.EvaluateCatalog(r.ctx, time.Unix(0, now), r.capacity)
	if err != nil {
		r.failed = fmt.Errorf("the catalog at %s: %w", time.Unix(0, now).UTC().Format(time.RFC3339), err)
		return r.revision.Catalog(), false
	}
	again := slices.ContainsFunc([]string{"classify", "deny"}, func(entrypoint string) bool {
		return r.revision.ReadsPart(entrypoint, "now_ns") || r.revision.ReadsPart(entrypoint, "capacity")
	})
	return catalog, again
}

func equal(a, b policies.CatalogCapacity) bool {
	if len(a) != len(b) {
		return false
	}
	for flavor, totals := range a {
		other, there := b[flavor]
		if !there || len(totals) != len(other) {
			return false
		}
		for name, total := range totals {
			if other[name] != total {
				return false
			}
		}
	}
	return true
}
