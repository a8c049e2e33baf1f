package engine

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/holdshort/holdshort/policies"
)

// checkTypes compares what the compiler knows of each field's type with the
// contract, so that a priority that is a string never becomes active. What is
// only known when it is evaluated (any) is left to the strict decoding.
func checkTypes(compiler *ast.Compiler) []Problem {
	var problems []Problem
	for _, f := range contract() {
		rules := compiler.GetRules(f.ref())
		if len(rules) == 0 {
			continue
		}
		t := compiler.TypeEnv.GetByRef(f.ref())
		message, try := misfit(t, f.shape)
		if message == "" {
			continue
		}
		at := suspect(rules, f.shape)
		problems = append(problems, problemAt(at, CodeType,
			fmt.Sprintf("%s: want %s, got %s", f.path(), f.shape, message), try))
	}
	return problems
}

// misfit is "" if a value of type t can have the shape.
func misfit(t types.Type, want shape) (got, try string) {
	switch t := t.(type) {
	case nil:
		return "", ""
	case *types.NamedType:
		return misfit(t.Type, want)
	case types.Any:
		for _, alternative := range t {
			if got, try = misfit(alternative, want); got != "" {
				return got, try
			}
		}
		return "", ""
	}
	return misfitOf(t, want)
}

// misfitOf is misfit for a type that is none of several and has no name.
func misfitOf(t types.Type, want shape) (got, try string) {
	fits := false
	switch want {
	case shapeObject:
		_, fits = t.(*types.Object)
	case shapeString:
		_, fits = t.(types.String)
	case shapeBool:
		_, fits = t.(types.Boolean)
	case shapeNumber:
		_, fits = t.(types.Number)
		if _, text := t.(types.String); text {
			try = "a number, or to_number(…)"
		}
	case shapeOrder, shapeStrings:
		_, fits = t.(*types.Array)
		if _, set := t.(*types.Set); set {
			try = "[…], since order matters"
		}
	case shapeReasons:
		set, isSet := t.(*types.Set)
		if !isSet {
			return types.Sprint(t), ""
		}
		return reasonMisfit(set.Of())
	}
	if fits {
		return "", ""
	}
	return types.Sprint(t), try
}

// reasonMisfit checks the element type of a set of reasons.
func reasonMisfit(t types.Type) (got, try string) {
	const advice = `lib.reason("team.example/Code", "why")`
	switch t := t.(type) {
	case nil:
		return "", ""
	case *types.NamedType:
		return reasonMisfit(t.Type)
	case types.Any:
		for _, alternative := range t {
			if got, try = reasonMisfit(alternative); got != "" {
				return got, try
			}
		}
		return "", ""
	case *types.Object:
		return reasonKeys(t)
	}
	return "elements of type " + types.Sprint(t), advice
}

func reasonKeys(t *types.Object) (got, try string) {
	fields, known := structFields(reflect.TypeFor[policies.Reason]())
	known = slices.DeleteFunc(known, func(name string) bool { return name == "rule_at" })
	have := map[string]bool{}
	for _, p := range t.StaticProperties() {
		name, _ := p.Key.(string)
		have[name] = true
		want := shapeString
		if name == "until_ns" {
			want = shapeNumber
		}
		if !slices.Contains(known, name) {
			return fmt.Sprintf("a reason with the key %q", name), "one of " + strings.Join(known, ", ")
		}
		if got, try := misfit(p.Value, want); got != "" {
			return fmt.Sprintf("a reason whose %s is %s", name, got), cmp.Or(try, "sprintf")
		}
	}
	for _, name := range known {
		if fields[name].required && !have[name] && t.DynamicProperties() == nil {
			return "a reason without " + name, ""
		}
	}
	return "", ""
}

// suspect is the rule that most likely has the wrong type: one whose value is a
// constant of it, else the first.
func suspect(rules []*ast.Rule, want shape) *ast.Location {
	slices.SortFunc(rules, func(a, b *ast.Rule) int { return a.Location.Compare(b.Location) })
	for _, rule := range rules {
		term := rule.Head.Value
		if want == shapeReasons {
			term = rule.Head.Key
		}
		if term == nil || !ast.IsConstant(term.Value) {
			continue
		}
		t := types.TypeOf(ast.MustJSON(term.Value))
		got, _ := misfit(t, want)
		if want == shapeReasons {
			got, _ = reasonMisfit(t)
		}
		if got != "" {
			return rule.Location
		}
	}
	return rules[0].Location
}
