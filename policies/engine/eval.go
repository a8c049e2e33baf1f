package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Codes of evaluation errors.
const (
	EvalUndefined = "undefined" // a required field has no value
	EvalConflict  = "conflict"  // rules give different values
	EvalBuiltin   = "builtin"   // a built-in was given what it cannot work with
	EvalType      = "type"      // the value is not what the contract wants
	EvalDeadline  = "deadline"  // it took too long
	EvalMemory    = "memory"    // it took too much memory
	EvalInternal  = "internal"
)

// ConflictAdvice is what to do about rules that give different values.
const ConflictAdvice = "else, or conditions that exclude each other"

// memoryMax is how much memory an evaluation may take, on top of as much as was
// in use before it.
const memoryMax = 128 << 20

// EvalError says why a policy gave no answer. It is not "no".
type EvalError struct {
	Entrypoint string // classify.queue, hold
	Code       string
	At         string // file:row of the rule, if known
	Message    string
}

// Error is file:row: entrypoint: message.
func (e *EvalError) Error() string {
	text := e.Entrypoint + ": " + e.Message
	if e.At != "" {
		text = e.At + ": " + text
	}
	return text
}

// probe asks for the fields of one group in one query. Of several, each is wrapped
// in an array comprehension, so that an undefined one is [] instead of taking the
// others with it.
type probe struct {
	group  string
	fields []field
	alone  bool        // there is one field, which is asked for by itself
	keys   []*ast.Term // of the fields in what the query gives
	seen   *view       // of input
	config *view       // of data.holdshort.config
	lent   []string
	query  *query
	pool   *pool
	stuck  atomic.Int32 // evaluations that were given up and still run
}

// answers are the values of a probe's fields, in their order.
type answers []ast.Value

// of is the value of the i-th field, nil if it is undefined.
func (a answers) of(i int) ast.Value {
	if i >= len(a) {
		return nil
	}
	return a[i]
}

// probeText is the query: x := {"classify.queue": [v | v := data.….queue], …}.
// Fields without rules are left out. alone: it is x := data.….deny.
func (b *build) probeText(fields []field) (text string, alone bool) {
	var parts []string
	for _, f := range fields {
		if b.revision.rules[f.path()].first == nil {
			continue
		}
		ref := f.ref().String()
		if f.shape == shapeReasons {
			ref = locatedRef(f)
		}
		if len(fields) == 1 {
			return "x := " + ref, true
		}
		parts = append(parts, fmt.Sprintf("%q: [v | v := %s]", f.path(), ref))
	}
	return "x := {" + strings.Join(parts, ", ") + "}", false
}

// eval asks.
func (p *probe) eval(ctx context.Context, input ast.Value, limit time.Duration) (answers, error) {
	if p.stuck.Load() >= stuckMax {
		return nil, &EvalError{Entrypoint: p.group, Code: EvalDeadline,
			Message: fmt.Sprintf("%d evaluations that could not be stopped still run, and no more are begun. Try: edit the rule, then restart the manager", stuckMax)}
	}
	// OPA's own watch of the context costs a goroutine for each evaluation.
	budget, stop := startBudget(limit, memoryMax)
	defer stop()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, budget.cancel.Cancel)()
	}
	answered := &evaluated{}
	if !p.pool.run(func() { answered.ask(ctx, p, input, budget) }, budget.given, &p.stuck) {
		if budget.greedy.Load() {
			return nil, tooMuchMemory(p.group)
		}
		return nil, &EvalError{Entrypoint: p.group, Code: EvalDeadline,
			Message: fmt.Sprintf("took longer than %s and cannot be stopped, since one call in it takes that long. Try: keep numbers small", limit)}
	}
	x, err := answered.x, answered.err
	if err != nil {
		if budget.greedy.Load() && topdown.IsCancel(err) {
			return nil, tooMuchMemory(p.group)
		}
		return nil, p.explain(ctx, err, limit)
	}
	if found, ok := p.answers(x); ok {
		return found, nil
	}
	return nil, &EvalError{Entrypoint: p.group, Code: EvalInternal, Message: "the query gave no result"}
}

// answers takes what the query gave apart; nil is that it is undefined.
func (p *probe) answers(given ast.Value) (answers, bool) {
	if p.alone {
		return answers{given}, true
	}
	object, ok := given.(ast.Object)
	if !ok {
		return nil, false
	}
	found := make(answers, len(p.fields))
	for i, key := range p.keys {
		term := object.Get(key)
		if term == nil {
			continue
		}
		if wrapped, ok := term.Value.(*ast.Array); ok && wrapped.Len() > 0 {
			found[i] = wrapped.Elem(0).Value
		}
	}
	return found, true
}

func tooMuchMemory(group string) *EvalError {
	return &EvalError{Entrypoint: group, Code: EvalMemory,
		Message: fmt.Sprintf("took more than %d MiB of memory and was stopped. Try: count or look up instead of collecting", memoryMax>>20)}
}

// evaluated is what came of a query; nobody reads it before it has ended.
type evaluated struct {
	x   ast.Value
	err error
}

func (e *evaluated) ask(ctx context.Context, p *probe, input ast.Value, budget *budget) {
	defer func() {
		if r := recover(); r != nil {
			e.err = fmt.Errorf("panic: %v", r)
		}
	}()
	e.x, e.err = p.query.ask(ctx, input, budget.cancel)
}

func (p *probe) explain(ctx context.Context, err error, limit time.Duration) error {
	if topdown.IsCancel(err) || errors.Is(err, context.DeadlineExceeded) {
		if ctx.Err() != nil {
			return fmt.Errorf("evaluating %s: %w", p.group, ctx.Err())
		}
		return &EvalError{Entrypoint: p.group, Code: EvalDeadline,
			Message: fmt.Sprintf("took longer than %s and was stopped. Try: look up by key instead of searching", limit)}
	}
	failed := &EvalError{Entrypoint: p.group, Code: EvalInternal, Message: err.Error()}
	var opaError *topdown.Error
	if !errors.As(err, &opaError) {
		return failed
	}
	failed.Message = oneLine(opaError.Message)
	if opaError.Location != nil {
		failed.At = position(opaError.Location.File, opaError.Location.Row)
	}
	switch opaError.Code {
	case topdown.ConflictErr, topdown.WithMergeErr:
		failed.Code = EvalConflict
	case topdown.BuiltinErr:
		failed.Code = EvalBuiltin
	case topdown.TypeErr:
		failed.Code = EvalType
	}
	return failed
}

// oneLine fits a message of OPA's into an annotation, an event or a header.
func oneLine(message string) string {
	lines := strings.Split(strings.ReplaceAll(message, locatedSuffix, ""), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return shorten(lines[0]+strings.TrimSuffix(" "+strings.Join(lines[1:], ", "), " "), mostMessage)
}
