package engine

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// locatedSuffix names the twin of a set of reasons.
const locatedSuffix = "__located"

// addLocated gives each set of reasons a twin whose elements are [reason,
// "file:row"]: Rego cannot tell which rule an element came from, and a tracer
// would cost more than the rules. The sets themselves stay as they are, for
// rules that read them; they cost nothing unless read.
func (m *modules) addLocated() {
	for _, module := range m.byFile {
		for _, rule := range module.Rules {
			f, ok := fieldAt(rulePath(rule))
			if ok && f.shape == shapeReasons && rule.Head.Key != nil {
				module.Rules = append(module.Rules, locatedTwin(rule))
			}
		}
	}
}

func locatedTwin(rule *ast.Rule) *ast.Rule {
	twin := renamed(rule, len(rule.Head.Ref())-1, locatedSuffix)
	key := twin.Head.Key
	at := ast.StringTerm(position(rule.Location.File, rule.Location.Row)).SetLocation(key.Location)
	twin.Head.Key = ast.ArrayTerm(key, at).SetLocation(key.Location)
	return twin
}

// isTwin tells such a rule from those that people wrote.
func isTwin(rule *ast.Rule) bool {
	path := fullPath(rule)
	return len(path) > 0 && strings.HasSuffix(path[len(path)-1], locatedSuffix)
}

// renamed is a copy of a rule under another name, of which it changes one part.
func renamed(rule *ast.Rule, part int, suffix string) *ast.Rule {
	twin := rule.Copy()
	twin.Module, twin.Annotations = rule.Module, nil
	for link := twin; link != nil; link = link.Else {
		ref := link.Head.Ref().Copy()
		old := ref[part]
		if name, ok := old.Value.(ast.Var); ok {
			ref[part] = ast.NewTerm(ast.Var(string(name) + suffix)).SetLocation(old.Location)
		} else {
			ref[part] = ast.StringTerm(keyText(old) + suffix).SetLocation(old.Location)
		}
		link.Head.SetRef(ref)
	}
	return twin
}

func locatedRef(f field) string { return f.ref().String() + locatedSuffix }

// unlocated hides the twins from messages and merges what both report.
func unlocated(problems []Problem) []Problem {
	for i := range problems {
		problems[i].Message = strings.ReplaceAll(problems[i].Message, locatedSuffix, "")
	}
	return problems
}
