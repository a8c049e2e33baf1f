package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// said is an answer of one of the groups about a workload. It never changes.
type said struct {
	verdict  policies.Verdict
	ownUser  bool // a rule says whom usage is counted to
	mutation policies.Mutation
	reasons  []policies.Reason
	raw      answers // as the query gave them; kept for records only
}

// ask evaluates a group about a workload, unless the same was asked before: two
// workloads that differ in nothing that the rules read have one answer.
func (r *Revision) ask(ctx context.Context, p *probe, in *policies.Input) (said, error) {
	began := r.begin()
	state := r.current.Load()
	key, known := r.key(p, in, state)
	if known {
		if s, ok := r.memo.get(key); ok {
			r.observe(ctx, asked{group: p.group, input: in, state: state, began: began, shared: true}, s.raw, nil)
			return s, nil
		}
	}
	input, err := r.inputOf(in, p.seen, p.lent, state)
	if err != nil {
		return said{}, &EvalError{Entrypoint: p.group, Code: EvalInternal, Message: "building input: " + err.Error()}
	}
	result, err := p.eval(ctx, input, r.options.Deadline)
	var s said
	if err == nil {
		s, err = r.read(p, result)
	}
	r.observe(ctx, asked{group: p.group, input: in, state: state, began: began}, result, err)
	if err != nil {
		return said{}, err // also of one that is certain: the next time it may be fast
	}
	if known {
		r.memo.put(key, s)
	}
	return s, nil
}

// read makes an answer of a result.
func (r *Revision) read(p *probe, result answers) (s said, err error) {
	if r.options.Observe != nil {
		s.raw = result
	}
	switch p.group {
	case groupMutate:
		s.mutation, err = r.mutation(p, result)
		return s, err
	case groupDeny, groupWarn, groupHold, groupProtect:
		s.reasons, err = r.reasonsIn(p, result)
		return s, err
	}
	s.verdict, err = r.verdict(p, result)
	user := slices.IndexFunc(p.fields, func(f field) bool { return f.name == "user" })
	s.ownUser = user >= 0 && result.of(user) != nil
	return s, err
}

// inputOf builds what the view sees, and what the catalog's rules read.
func (r *Revision) inputOf(in *policies.Input, seen *view, lent []string, state *current) (ast.Value, error) {
	input, err := r.encoder.value(in, seen)
	if err != nil || len(lent) == 0 {
		return input, err
	}
	object, ok := input.(ast.Object)
	if !ok {
		return nil, fmt.Errorf("input is %s", ast.ValueName(input))
	}
	for _, name := range lent {
		if term := state.terms[name]; term != nil {
			object.Insert(ast.StringTerm(name), term)
		}
	}
	return object, nil
}

// key names everything that can make the answer another one. It is not known
// where the answer depends on the moment, or the input has something in it that
// can't be told apart for certain.
func (r *Revision) key(p *probe, in *policies.Input, state *current) (memoKey, bool) {
	if p.seen.part("now_ns") != nil && !slices.Contains(p.lent, "now_ns") {
		return memoKey{}, false
	}
	d := newDigester(r.encoder)
	d.word(p.group)
	d.document(in, p.seen, p.lent)
	if len(p.lent) > 0 {
		d.document(state.input, r.encoder.whole, nil)
	}
	return d.key(), !d.uncertain
}

// SameVerdict names what classify and deny read of a workload, and what hold
// reads of the workload itself: as long as the names are the same, so are the
// answers. They are empty if that is not certain.
func (r *Revision) SameVerdict(in *policies.Input) (verdict, hold string) {
	state := r.current.Load()
	classify, sure := r.key(r.probes[groupClassify], in, state)
	deny, alsoSure := r.key(r.probes[groupDeny], in, state)
	if sure && alsoSure && in.Workload != nil {
		verdict = fmt.Sprintf("%x %x %s", classify, deny, in.Workload.User)
	}
	d := newDigester(r.encoder)
	d.document(in, r.probes[groupHold].seen, append([]string{"now_ns", "capacity", "usage", "verdict"}, r.probes[groupHold].lent...))
	if d.uncertain {
		return verdict, ""
	}
	return verdict, fmt.Sprintf("%x", d.key())
}

// SameMutation names what mutate reads of a workload: as long as the name is the
// same, so is the answer. It is empty if that is not certain.
func (r *Revision) SameMutation(in *policies.Input) string {
	key, sure := r.key(r.probes[groupMutate], in, r.current.Load())
	if !sure {
		return ""
	}
	return fmt.Sprintf("%x", key)
}
