package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// Revision is one compiled bundle. It may be used by many goroutines at once.
// Nothing about it changes but the catalog, where that reads time or machines.
type Revision struct {
	digest   string
	bundle   Bundle
	options  Options
	current  atomic.Pointer[current]
	flavors  []string // of a catalog that reads the machines
	named    []string // resources that the policy speaks of
	warnings []Problem
	encoder  *encoder
	probes   map[string]*probe
	rules    map[string]ruleFacts // by path of the field
	memo     *memo
}

// Digest names the content of the bundle.
func (r *Revision) Digest() string { return r.digest }

// Source is where the bundle came from.
func (r *Revision) Source() string { return r.bundle.Source }

// Bundle is a copy of the text that the revision was made of, to be kept for a restart.
func (r *Revision) Bundle() Bundle { return r.bundle.clone() }

// Warnings are what looks wrong but is allowed.
func (r *Revision) Warnings() []Problem { return slices.Clone(r.warnings) }

// Classify says where a workload belongs. Only Workload, Namespace and Job of
// the input are seen.
func (r *Revision) Classify(ctx context.Context, in *policies.Input) (policies.Verdict, error) {
	if in.Workload == nil {
		return policies.Verdict{}, fmt.Errorf("classifying: no workload given")
	}
	s, err := r.ask(ctx, r.probes[groupClassify], in)
	if err != nil {
		return policies.Verdict{}, err
	}
	verdict := s.verdict
	verdict.Order, verdict.Flavors = slices.Clone(verdict.Order), slices.Clone(verdict.Flavors)
	if !s.ownUser {
		verdict.User = in.Workload.User
	}
	return verdict, nil
}

// verdict reads what classify said.
func (r *Revision) verdict(p *probe, result answers) (policies.Verdict, error) {
	var verdict policies.Verdict
	targets := map[string]any{"queue": &verdict.Queue, "priority": &verdict.Priority,
		"order": &verdict.Order, "flavors": &verdict.Flavors, "user": &verdict.User,
		"preemptible": &verdict.Preemptible, "minRuntimeSeconds": &verdict.MinRuntimeSeconds,
		"maxRuntimeSeconds": &verdict.MaxRuntimeSeconds}
	for i, f := range p.fields {
		value := result.of(i)
		if value == nil {
			if f.required {
				return policies.Verdict{}, r.evalError(f, EvalUndefined, "no rule gives a value for this Job")
			}
			continue
		}
		if problems := decode(fieldPath{f.name}, value, targets[f.name]); len(problems) > 0 {
			return policies.Verdict{}, r.evalError(f, EvalType, strings.TrimPrefix(problems[0].message, f.name+": "))
		}
	}
	if err := r.checkRuntimes(verdict); err != nil {
		return policies.Verdict{}, err
	}
	if err := r.checkFlavors(verdict.Flavors); err != nil {
		return policies.Verdict{}, err
	}
	return verdict, nil
}

func (r *Revision) checkRuntimes(verdict policies.Verdict) error {
	for _, d := range []struct {
		name    string
		seconds int64
	}{{"minRuntimeSeconds", verdict.MinRuntimeSeconds}, {"maxRuntimeSeconds", verdict.MaxRuntimeSeconds}} {
		if d.seconds < 0 || d.seconds > mostSeconds {
			return r.evalError(field{group: groupClassify, name: d.name}, EvalType, fmt.Sprintf("%d is no duration", d.seconds))
		}
	}
	return nil
}

func (r *Revision) checkFlavors(flavors []string) error {
	for i, name := range flavors {
		f := field{group: groupClassify, name: "flavors"}
		if _, ok := r.Catalog().Flavors[name]; !ok {
			return r.evalError(f, EvalType, fmt.Sprintf("flavors[%d]: there is no flavor %q", i, name))
		}
		if slices.Index(flavors, name) < i {
			return r.evalError(f, EvalType, fmt.Sprintf("flavors[%d]: %q is there twice", i, name))
		}
	}
	return nil
}

// Deny says why a workload must not be; nothing means that nothing is against it.
func (r *Revision) Deny(ctx context.Context, in *policies.Input) ([]policies.Reason, error) {
	return r.reasons(ctx, groupDeny, in)
}

// Warn says what the one who creates a workload should know.
func (r *Revision) Warn(ctx context.Context, in *policies.Input) ([]policies.Reason, error) {
	return r.reasons(ctx, groupWarn, in)
}

// Hold says why a workload must not start now.
func (r *Revision) Hold(ctx context.Context, in *policies.Input) ([]policies.Reason, error) {
	if in.Workload != nil && !r.HoldApplies(in.Workload.Labels) {
		return r.nothing(ctx, groupHold, in)
	}
	return r.reasons(ctx, groupHold, in)
}

// Protect says why a workload that runs must not make room for another; in.Workload
// is the victim's.
func (r *Revision) Protect(ctx context.Context, in *policies.Input) ([]policies.Reason, error) {
	if in.Victim == nil || in.Incoming == nil {
		return nil, fmt.Errorf("evaluating %s: it takes two to be displaced", groupProtect)
	}
	return r.reasons(ctx, groupProtect, in)
}

// nothing is the answer where no rule can have anything to say: it costs nothing,
// and is recorded as any other, so that policies with such rules can be tried on it.
func (r *Revision) nothing(ctx context.Context, group string, in *policies.Input) ([]policies.Reason, error) {
	r.observe(ctx, asked{group: group, input: in, state: r.current.Load(), began: r.begin()}, nil, nil)
	return nil, nil
}

func (r *Revision) reasons(ctx context.Context, group string, in *policies.Input) ([]policies.Reason, error) {
	probe := r.probes[group]
	f := probe.fields[0]
	if in.Workload == nil {
		return nil, fmt.Errorf("evaluating %s: no workload given", group)
	}
	if r.rules[f.path()].first == nil {
		return r.nothing(ctx, group, in)
	}
	s, err := r.ask(ctx, probe, in)
	return slices.Clone(s.reasons), err
}

// reasonsIn reads what a set of reasons said.
func (r *Revision) reasonsIn(p *probe, result answers) ([]policies.Reason, error) {
	f := p.fields[0]
	value := result.of(0)
	if value == nil {
		return nil, r.evalError(f, EvalUndefined, "the set itself is undefined")
	}
	set, ok := value.(ast.Set)
	if !ok {
		return nil, r.evalError(f, EvalType, "want a set, got "+describe(value))
	}
	reasons := make([]policies.Reason, 0, set.Len())
	for _, element := range set.Slice() {
		reason, err := r.reason(f, element)
		if err != nil {
			return nil, err
		}
		reasons = append(reasons, reason)
	}
	return sortedReasons(reasons), nil
}

// reason reads an element of a located set: [reason, "file:row"].
func (r *Revision) reason(f field, element *ast.Term) (policies.Reason, error) {
	pair, ok := element.Value.(*ast.Array)
	if !ok || pair.Len() != 2 {
		return policies.Reason{}, r.evalError(f, EvalInternal, "a reason without its place")
	}
	at := keyText(pair.Elem(1))
	var reason policies.Reason
	if problems := decode(nil, pair.Elem(0).Value, &reason); len(problems) > 0 {
		return policies.Reason{}, &EvalError{Entrypoint: f.path(), Code: EvalType, At: at,
			Message: strings.TrimPrefix(problems[0].message, ": ")}
	}
	if reason.Code == "" || reason.Message == "" {
		return policies.Reason{}, &EvalError{Entrypoint: f.path(), Code: EvalType, At: at,
			Message: "a reason needs a code and a message"}
	}
	reason.Code, reason.Message, reason.Docs = plainText(reason.Code), plainText(reason.Message), plainText(reason.Docs)
	reason.RuleAt = at
	return reason, nil
}

// sortedReasons drops what two rules say alike.
func sortedReasons(reasons []policies.Reason) []policies.Reason {
	slices.SortFunc(reasons, func(a, b policies.Reason) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message),
			cmp.Compare(a.UntilNS, b.UntilNS), cmp.Compare(a.Docs, b.Docs), cmp.Compare(a.RuleAt, b.RuleAt))
	})
	return slices.CompactFunc(reasons, func(a, b policies.Reason) bool {
		a.RuleAt, b.RuleAt = "", ""
		return a == b
	})
}

// evalError blames the field's first rule, which is the only one in most policies.
func (r *Revision) evalError(f field, code, message string) *EvalError {
	failed := &EvalError{Entrypoint: f.path(), Code: code, Message: message}
	if at := r.rules[f.path()].first; at != nil {
		failed.At = position(at.File, at.Row)
	}
	return failed
}

// ruleFacts are what is known of the rules of a field.
type ruleFacts struct {
	first *ast.Location // nil if there are no rules
	// isDefault: all of them are embedded ones.
	isDefault bool
}

func factsOf(compiler *ast.Compiler) map[string]ruleFacts {
	facts := map[string]ruleFacts{}
	for _, f := range contract() {
		known := ruleFacts{isDefault: true}
		for _, rule := range compiler.GetRules(f.ref()) {
			own := !strings.HasPrefix(rule.Location.File, defaultsPrefix)
			if known.first == nil || rule.Location.Compare(known.first) < 0 {
				known.first = rule.Location
			}
			known.isDefault = known.isDefault && !own
		}
		facts[f.path()] = known
	}
	return facts
}
