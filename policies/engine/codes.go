package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// checkCodes: a reason's code says whose it is. One of holdshort's own would tell
// people, dashboards and alerts that holdshort has said it.
func checkCodes(compiler *ast.Compiler) (problems, warnings []Problem) {
	for _, file := range slices.Sorted(maps.Keys(compiler.Modules)) {
		if IsEmbedded(file) {
			continue
		}
		for _, rule := range compiler.Modules[file].Rules {
			for _, term := range ReasonCodes(rule) {
				code := keyText(term)
				switch try := fmt.Sprintf("%q, with a namespace of yours", "team.example/"+strings.Trim(code, "/")); {
				case policies.OwnReason(code):
					problems = append(problems, problemAt(placeOf(term, rule), CodeReason,
						"the reason code "+code+" is one of holdshort's own", try))
				case !policies.NamespacedReason(code):
					warnings = append(warnings, problemAt(placeOf(term, rule), CodeReason,
						fmt.Sprintf("the reason code %q does not say whose it is", code), try))
				}
			}
		}
	}
	return problems, warnings
}

func placeOf(term *ast.Term, rule *ast.Rule) *ast.Location {
	if term.Location != nil && term.Location.File != "" {
		return term.Location
	}
	return rule.Location
}

// ReasonCodes are the constant codes in a compiled rule, each once: the first
// argument of lib.reason and lib.reason_until, and in a set of reasons "code" of
// an object.
func ReasonCodes(rule *ast.Rule) []*ast.Term {
	var codes []*ast.Term
	add := func(term *ast.Term) {
		_, text := term.Value.(ast.String)
		if text && !slices.ContainsFunc(codes, func(known *ast.Term) bool { return known.Equal(term) }) {
			codes = append(codes, term)
		}
	}
	if isTwin(rule) {
		return nil // it says what the rule says
	}
	if f, ok := fieldAt(rulePath(rule)); ok && f.shape == shapeReasons {
		ast.WalkTerms(rule, func(term *ast.Term) bool {
			if object, ok := term.Value.(ast.Object); ok {
				if code := object.Get(ast.InternedTerm("code")); code != nil && object.Get(ast.InternedTerm("message")) != nil {
					add(code)
				}
			}
			return false
		})
	}
	ast.WalkExprs(rule, func(expr *ast.Expr) bool {
		if !expr.IsCall() || len(expr.Operands()) == 0 {
			return false
		}
		if name := operatorName(expr); name == "data.holdshort.lib.reason" || name == "data.holdshort.lib.reason_until" {
			add(expr.Operand(0))
		}
		return false
	})
	return codes
}
