package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// Decision is one question to the policy and its answer, for whoever keeps
// records. Input and Result cost something only when they are called for.
type Decision struct {
	Entrypoint string // catalog, classify, mutate, deny, warn, hold, protect
	Revision   string
	Source     string
	Workload   *policies.Workload // nil for the catalog
	At         time.Time
	Took       time.Duration
	// Shared: the answer is one that was given before, to the same question.
	Shared bool
	// Err is why there is no answer.
	Err *EvalError
	// Reasons say which rules spoke.
	Reasons []policies.Reason
	// Input is everything that the entrypoint may see, so that rules which read
	// more can be asked the same. It is a plain JSON document.
	Input func() (any, error)
	// Result is what the rules said: an object of the fields, or a list of
	// reasons. It is a plain JSON document, nil if there is none.
	Result func() (any, error)
}

// asked is what a decision was about.
type asked struct {
	group  string
	input  any // *policies.Input or *policies.CatalogInput
	state  *current
	began  time.Time
	shared bool
}

func (r *Revision) begin() time.Time {
	if r.options.Observe == nil {
		return time.Time{}
	}
	return r.options.Now()
}

// Quietly is for questions that decide nothing: nobody is told of them.
func Quietly(ctx context.Context) context.Context { return context.WithValue(ctx, quiet{}, true) }

type quiet struct{}

// observe tells of a decision. A question that the caller gave up is none.
func (r *Revision) observe(ctx context.Context, a asked, result answers, err error) {
	if r.options.Observe == nil || ctx.Value(quiet{}) != nil {
		return
	}
	d := Decision{Entrypoint: a.group, Revision: r.digest, Source: r.bundle.Source, At: a.began,
		Took: r.options.Now().Sub(a.began), Shared: a.shared}
	if err != nil && !errors.As(err, &d.Err) {
		return
	}
	p := r.probes[a.group]
	in, aboutWorkload := a.input.(*policies.Input)
	if aboutWorkload {
		d.Workload = in.Workload
	}
	d.Input = func() (any, error) {
		if !aboutWorkload {
			return r.plainInput(r.encoder.value(a.input, r.encoder.whole))
		}
		return r.plainInput(r.inputOf(in, grantedBy(p), p.lent, a.state))
	}
	d.Result = func() (any, error) { return plainResult(p, result) }
	if err != nil {
		d.Result = func() (any, error) { return nil, nil }
	} else if len(p.fields) == 1 && p.fields[0].shape == shapeReasons {
		d.Reasons, _ = r.reasonsIn(p, result)
	}
	r.options.Observe(d)
}

// grantedBy is all that a group may see; the raw Job only if it is there at all.
func grantedBy(p *probe) *view {
	seen := newView()
	for _, name := range mayRead(p.group) {
		if name != "job" || p.seen.part(name) != nil {
			seen.add([]string{name})
		}
	}
	return seen
}

func (r *Revision) plainInput(value ast.Value, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return ast.JSON(value)
}

// plainResult is what stock OPA prints for the entrypoint, helpers left out.
func plainResult(p *probe, result answers) (any, error) {
	if len(p.fields) == 1 && p.fields[0].shape == shapeReasons {
		set := ast.NewSet()
		if located, ok := result.of(0).(ast.Set); ok {
			located.Foreach(func(element *ast.Term) {
				if pair, ok := element.Value.(*ast.Array); ok && pair.Len() == 2 {
					set.Add(pair.Elem(0))
				}
			})
		}
		return ast.JSONWithOpt(set, ast.JSONOpt{SortSets: true})
	}
	fields := map[string]any{}
	for i, f := range p.fields {
		if value := result.of(i); value != nil {
			plain, err := ast.JSONWithOpt(value, ast.JSONOpt{SortSets: true})
			if err != nil {
				return nil, err
			}
			fields[f.name] = plain
		}
	}
	return fields, nil
}

// Answer asks an entrypoint about a document, as a record has it, and gives what
// stock OPA would print, checked against the contract. missing are the parts of
// input that the rules read and the document does not have, though every
// workload has them: then nothing is asked.
func (r *Revision) Answer(ctx context.Context, entrypoint string, input map[string]any) (result any, missing []string, err error) {
	p, known := r.probes[entrypoint]
	if !known {
		return nil, nil, fmt.Errorf("there is no entrypoint %q. Try: one of %s", entrypoint, strings.Join(groups(), ", "))
	}
	for _, part := range append(mayRead(p.group), p.lent...) {
		// The last two are there in the webhook only.
		if _, there := input[part]; !there && p.seen.part(part) != nil && part != "request" && part != "old" {
			missing = append(missing, part)
		}
	}
	if len(missing) > 0 {
		return nil, missing, nil
	}
	value, err := ast.InterfaceToValue(input)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the input of %s: %w", entrypoint, err)
	}
	said, err := p.eval(ctx, value, r.options.Deadline)
	if err != nil {
		return nil, nil, err
	}
	if p.group != groupCatalog && r.has(p.group) {
		if _, err := r.read(p, said); err != nil {
			return nil, nil, err
		}
	}
	result, err = plainResult(p, said)
	return result, nil, err
}
