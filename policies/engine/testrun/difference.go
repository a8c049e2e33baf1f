package testrun

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/holdshort/holdshort/policies/engine"
)

// Difference is an expression that did not hold.
type Difference struct {
	File string `json:"file"`
	Row  int    `json:"row"`
	// Text is the expression, with the values of what is in it below.
	Text string `json:"text"`
}

// mostDifferences of the rules are enough to see why; a policy of a hundred
// deny rules has a hundred that did not apply.
const mostDifferences = 5

// differences runs a failed test once more and watches. Indexing is off, so
// that rules which were never tried are seen to fail, too.
func (r *runner) differences(ctx context.Context, t test) []Difference {
	return r.explainTrace(r.trace(ctx, t), t)
}

// differencesOf are those of one case: from where the case begins to where the
// next one does.
func (r *runner) differencesOf(ctx context.Context, t test, name string) []Difference {
	var own []*topdown.Event
	for _, event := range r.trace(ctx, t) {
		if begun, ok := caseName(event); ok {
			if len(own) > 0 {
				break
			}
			if begun != name {
				continue
			}
			own = append(own, event)
		} else if len(own) > 0 {
			own = append(own, event)
		}
	}
	return r.explainTrace(own, t)
}

func (r *runner) trace(ctx context.Context, t test) []*topdown.Event {
	tracer := topdown.NewBufferTracer()
	var output bytes.Buffer
	// What it comes to is known; only the way there matters.
	_, _ = r.eval(ctx, t, &output, []topdown.QueryTracer{tracer}, rego.EvalRuleIndexing(false), rego.EvalEarlyExit(false))
	if r.stuck {
		return nil
	}
	return *tracer
}

func (r *runner) explainTrace(events []*topdown.Event, t test) []Difference {
	end := r.lastFailure(events, t)
	if end < 0 {
		return nil
	}
	return append([]Difference{difference(events[end])}, r.inRules(events[:end])...)
}

// lastFailure is where the test itself gave up: what it tried last.
func (r *runner) lastFailure(events []*topdown.Event, t test) int {
	for i, e := range slices.Backward(events) {
		if e.Op == topdown.FailOp && e.Location != nil && e.Location.File == t.rule.Location.File && own(e) {
			return i
		}
	}
	return -1
}

// own is false for what the compiler made: it has no text of its own. The query
// that asked for the test has an ID of 0.
func own(e *topdown.Event) bool {
	expr, ok := e.Node.(*ast.Expr)
	if !ok || e.QueryID == 0 || len(e.Location.Text) == 0 {
		return false
	}
	_, every := expr.Terms.(*ast.Every) // what failed is inside of it
	return !every && !insideNot(expr, e.Location)
}

// insideNot: what "not" is about failed, so the row, which has the "not", did hold.
func insideNot(expr *ast.Expr, at *ast.Location) bool {
	return !expr.Negated && bytes.HasPrefix(at.Text, []byte("not "))
}

// inRules are expressions of the policy that did not hold on the way, each once:
// the last ones, which are nearest to what failed.
func (r *runner) inRules(events []*topdown.Event) []Difference {
	var found []Difference
	for _, e := range events {
		if e.Op != topdown.FailOp || e.Location == nil || !own(e) {
			continue
		}
		if _, test := r.parts.Tests[e.Location.File]; test || engine.IsEmbedded(e.Location.File) {
			continue
		}
		if d := difference(e); !slices.Contains(found, d) {
			found = append(found, d)
		}
	}
	return found[max(0, len(found)-mostDifferences):]
}

func difference(e *topdown.Event) Difference {
	var text bytes.Buffer
	if err := topdown.PrettyEvent(&text, withInput(e), topdown.PrettyEventOpts{PrettyVars: true}); err != nil {
		text.Reset()
		text.Write(e.Location.Text)
	}
	// Values that belong to no one place of the expression stand below it.
	expr, values, _ := strings.Cut(withoutInput(text.String()), "\n\nWhere:\n\n")
	return Difference{File: e.Location.File, Row: e.Location.Row, Text: strings.TrimRight(dedent(expr)+"\n"+dedent(values), "\n")}
}

// withInput makes input a variable of the event if the expression reads something
// that is there: OPA's printer takes it for an undefined one, and says of all that
// is read of it that it is undefined.
func withInput(e *topdown.Event) *topdown.Event {
	expr, isExpr := e.Node.(*ast.Expr)
	if !isExpr || e.Input() == nil {
		return e
	}
	there := false
	ast.WalkRefs(expr, func(ref ast.Ref) bool {
		if ref[0].Equal(ast.InputRootDocument) && len(ref.GroundPrefix()) > 1 {
			_, err := e.Input().Value.Find(ref.GroundPrefix()[1:])
			there = there || err == nil
		}
		return false
	})
	if !there {
		return e
	}
	known := *e
	known.Locals = ast.NewValueMap()
	if e.Locals != nil {
		e.Locals.Iter(func(name, value ast.Value) bool {
			known.Locals.Put(name, value)
			return false
		})
	}
	known.Locals.Put(inputName, e.Input().Value)
	known.LocalMetadata = maps.Clone(e.LocalMetadata)
	if known.LocalMetadata == nil {
		known.LocalMetadata = map[ast.Var]topdown.VarMetadata{}
	}
	known.LocalMetadata[inputName] = topdown.VarMetadata{Name: inputName}
	return &known
}

const inputName = ast.Var("input")

// withoutInput leaves out the row that has all of input: what was read of it has
// rows of its own.
func withoutInput(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.HasPrefix(strings.TrimLeft(line, "| \t"), string(inputName)+": ")
	}), "\n")
}

// dedent takes away the indentation that the lines share, and empty ends.
func dedent(text string) string {
	lines := strings.Split(strings.Trim(strings.ReplaceAll(text, "\t", "    "), "\n"), "\n")
	shared := -1
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if lines[i] != "" && (shared < 0 || indent < shared) {
			shared = indent
		}
	}
	for i, line := range lines {
		lines[i] = line[min(max(shared, 0), len(line)):]
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
