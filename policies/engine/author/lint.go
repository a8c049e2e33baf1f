package author

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// Codes of what is allowed and probably not meant.
const (
	LintTitle    = "lint_title"
	LintUntested = "lint_untested"
	LintReason   = "lint_reason"
	LintScan     = "lint_scan"
	LintOverlap  = "lint_overlap"
	LintResource = "lint_resource"
	LintNodes    = "lint_nodes"
	// LintTest: a test in a file of rules.
	LintTest = "lint_test"
	// LintUndefined and LintFails: rules without an answer about a made-up Job.
	LintUndefined = "lint_undefined"
	LintFails     = "lint_fails"
)

// lint finds what is allowed and probably not meant. The compiled modules have
// the same rules as the parts, with all names resolved.
func lint(parts *engine.Parts, compiler *ast.Compiler, catalog *policies.Catalog, coverage *testrun.Coverage) []engine.Problem {
	found := slices.Concat(untitled(parts), untestedRules(coverage), unmentioned(parts, compiler, coverage), overlaps(parts, catalog))
	for _, file := range slices.Sorted(maps.Keys(parts.Rules)) {
		found = append(found, scans(parts.Rules[file])...)
	}
	return found
}

// untitled: each reason should have a title, each other field at least one.
func untitled(parts *engine.Parts) []engine.Problem {
	titled := map[string]bool{}
	first := map[string]*ast.Rule{}
	var found []engine.Problem
	for _, file := range slices.Sorted(maps.Keys(parts.Rules)) {
		for _, rule := range parts.Rules[file].Rules {
			field := engine.FieldOf(rule)
			switch {
			case field == "":
			case rule.Head.RuleKind() == ast.MultiValue:
				if !hasTitle(rule) {
					found = append(found, untitledRule(rule, field))
				}
			default:
				titled[field] = titled[field] || hasTitle(rule)
				if first[field] == nil {
					first[field] = rule
				}
			}
		}
	}
	for _, field := range slices.Sorted(maps.Keys(first)) {
		if !titled[field] {
			found = append(found, untitledRule(first[field], field))
		}
	}
	return found
}

func hasTitle(rule *ast.Rule) bool {
	return slices.ContainsFunc(rule.Annotations, func(a *ast.Annotations) bool { return a.Title != "" })
}

func untitledRule(rule *ast.Rule, field string) engine.Problem {
	return at(rule.Location, LintTitle, fmt.Sprintf("this rule of %s has no title", field),
		"two lines above it: # METADATA and # title: WHAT IT IS FOR")
}

func untestedRules(coverage *testrun.Coverage) []engine.Problem {
	var found []engine.Problem
	for _, rule := range coverage.Untested {
		if testrun.IsTest(rule.Name) {
			found = append(found, engine.Problem{File: rule.File, Row: rule.Row, Code: LintTest,
				Message: fmt.Sprintf("%s is no test here but a rule: tests count in *_test.rego only", rule.Name),
				Try:     "the name " + strings.TrimSuffix(rule.File, ".rego") + "_test.rego for the file"})
			continue
		}
		found = append(found, engine.Problem{File: rule.File, Row: rule.Row, Code: LintUntested,
			Message: fmt.Sprintf("no test makes this rule (%s) true", rule.Name), Try: "a test of a case in which it applies"})
	}
	return found
}

// unmentioned are reason codes that no test knows: one could change, and nobody
// would notice. Rules that are not tested at all are told of already.
func unmentioned(parts *engine.Parts, compiler *ast.Compiler, coverage *testrun.Coverage) []engine.Problem {
	known := map[ast.String]bool{}
	for _, module := range parts.Tests {
		ast.WalkTerms(module, func(term *ast.Term) bool {
			if text, ok := term.Value.(ast.String); ok {
				known[text] = true
			}
			return false
		})
	}
	var found []engine.Problem
	for _, file := range slices.Sorted(maps.Keys(parts.Rules)) {
		for _, rule := range compiler.Modules[file].Rules {
			if engine.FieldOf(rule) == "" || slices.ContainsFunc(coverage.Untested, func(u testrun.Rule) bool {
				return u.File == file && u.Row == rule.Location.Row
			}) {
				continue
			}
			for _, code := range engine.ReasonCodes(rule) {
				if text, ok := code.Value.(ast.String); ok && !known[text] {
					found = append(found, at(rule.Location, LintReason,
						fmt.Sprintf("no test mentions the reason %s", string(text)), "a test that compares the codes"))
				}
			}
		}
	}
	return found
}

func at(place *ast.Location, code, message, try string) engine.Problem {
	problem := engine.Problem{Code: code, Message: message, Try: try}
	if place != nil {
		problem.File, problem.Row, problem.Col = place.File, place.Row, place.Col
	}
	return problem
}
