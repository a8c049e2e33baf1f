package testrun

import (
	"cmp"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/holdshort/holdshort/policies/engine"
)

// Coverage is how much of the rules the tests reach. Library, defaults and the
// tests themselves do not count.
type Coverage struct {
	Percent float64        `json:"percent"`
	Files   []FileCoverage `json:"files"`
	// Untested are the rules that no test made true.
	Untested []Rule `json:"untested,omitempty"`
}

// FileCoverage is that of one file; rows count from 1.
type FileCoverage struct {
	File    string     `json:"file"`
	Percent float64    `json:"percent"`
	Missed  []RowRange `json:"missed,omitempty"`
}

// RowRange is from a row to a row, both included.
type RowRange struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Rule is a rule of a bundle.
type Rule struct {
	File string `json:"file"`
	Row  int    `json:"row"`
	Name string `json:"name"`
}

// reached is what the tests of a run reached: rows, and whole rules. Of a rule
// on one row, rows alone don't say whether it ever became true.
type reached struct {
	rows  *cover.Cover
	rules map[place]bool
}

type place struct {
	file     string
	row, col int
}

func placeOf(at *ast.Location) place { return place{at.File, at.Row, at.Col} }

func newReached() *reached { return &reached{rows: cover.New(), rules: map[place]bool{}} }

// Enabled, Config and TraceEvent make it a topdown.QueryTracer.
func (r *reached) Enabled() bool { return true }

// Config asks for no values.
func (r *reached) Config() topdown.TraceConfig { return r.rows.Config() }

// TraceEvent notes what was reached.
func (r *reached) TraceEvent(e topdown.Event) {
	if rule, ok := e.Node.(*ast.Rule); ok && e.Op == topdown.ExitOp && rule.Head.Location != nil {
		r.rules[placeOf(rule.Head.Location)] = true
	}
	r.rows.TraceEvent(e)
}

func (r *reached) coverage(parts *engine.Parts) *Coverage {
	report, c := r.rows.Report(parts.Rules), &Coverage{}
	covered, all := 0, 0
	for _, file := range slices.Sorted(maps.Keys(parts.Rules)) {
		f := report.Files[file]
		lines := f.CoveredLines + f.NotCoveredLines
		covered, all = covered+f.CoveredLines, all+lines
		own := FileCoverage{File: file, Percent: percent(f.CoveredLines, lines)}
		for _, missed := range f.NotCovered {
			own.Missed = append(own.Missed, RowRange{missed.Start.Row, missed.End.Row})
		}
		own.Missed = slices.Compact(own.Missed)
		c.Files = append(c.Files, own)
		c.Untested = append(c.Untested, r.untested(parts.Rules[file])...)
	}
	c.Percent = percent(covered, all)
	return c
}

// percent of nothing is 100: data needs no test.
func percent(part, all int) float64 {
	if all == 0 {
		return 100
	}
	return 100 * float64(part) / float64(all)
}

func (r *reached) untested(module *ast.Module) []Rule {
	var found []Rule
	ast.WalkRules(module, func(rule *ast.Rule) bool {
		at := rule.Head.Location
		if at != nil && at.HasFile() && !rule.Default && !r.rules[placeOf(at)] {
			found = append(found, Rule{File: at.File, Row: at.Row, Name: rule.Head.Ref().String()})
		}
		return false
	})
	slices.SortFunc(found, func(a, b Rule) int { return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Name, b.Name)) })
	return slices.Compact(found)
}
