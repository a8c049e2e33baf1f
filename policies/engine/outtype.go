package engine

import (
	"cmp"
	"fmt"
	"maps"
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
func (b *build) checkTypes(schemas *ast.SchemaSet) []Problem {
	var problems []Problem
	for _, f := range contract() {
		rules := sortedRules(b.compiler.GetRules(f.ref()))
		if len(rules) == 0 {
			continue
		}
		message, try := misfit(b.compiler.TypeEnv.GetByRef(f.ref()), f.shape)
		if message == "" {
			continue
		}
		problem := func(at *ast.Location, message, try string) {
			problems = append(problems, problemAt(at, CodeType, fmt.Sprintf("%s: want %s, got %s", f.path(), f.shape, message), try))
		}
		blamed := false
		for _, rule := range b.typesOfRules(f, schemas) {
			if own, advice := misfit(rule.is, f.shape); own != "" {
				problem(rule.at, own, advice)
				blamed = true
			}
		}
		if !blamed {
			problem(rules[0].Location, message, try)
		}
	}
	return problems
}

// aloneSuffix begins the name of the twin of one rule of several.
const aloneSuffix = "__alone"

// typedRule is a rule and the type of what it gives.
type typedRule struct {
	at *ast.Location
	is types.Type
}

// typesOfRules are the types of the rules of a field each by itself, in the order
// of the text: the compiler knows only that of all of them together. So each gets
// a twin of another name. This costs a second compilation, of a policy that is
// refused anyway.
func (b *build) typesOfRules(f field, schemas *ast.SchemaSet) []typedRule {
	modules := map[string]*ast.Module{}
	for name, module := range b.mods.byFile {
		modules[name] = module.Copy()
	}
	var rules []*ast.Rule
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		for _, rule := range modules[name].Rules {
			if found, ok := fieldAt(rulePath(rule)); ok && found == f && !strings.HasSuffix(rulePath(rule), locatedSuffix) {
				rules = append(rules, rule)
			}
		}
	}
	var twins []*ast.Rule
	for i, rule := range sortedRules(rules) {
		part := len(f.ref()) - 1 - len(rule.Module.Package.Path) // labels of labels["a"]
		if part < 0 {
			return nil // the package is the field
		}
		twin := renamed(rule, part, fmt.Sprintf("%s%d", aloneSuffix, i))
		rule.Module.Rules = append(rule.Module.Rules, twin)
		b.mods.addType(twin)
		twins = append(twins, twin)
	}
	compiler := newCompiler(schemas)
	compiler.Compile(modules)
	if compiler.Failed() {
		return nil // the field as a whole is blamed
	}
	found := make([]typedRule, len(twins))
	for i, twin := range twins {
		found[i] = typedRule{twin.Location, compiler.TypeEnv.GetByRef(twin.Ref()[:len(f.ref())])}
	}
	return found
}

// misfit is "" if a value of type t can have the shape.
func misfit(t types.Type, want shape) (got, try string) {
	switch t := t.(type) {
	case nil:
		return "", ""
	case *types.NamedType:
		return misfit(t.Type, want)
	case types.Any:
		if want == shapeNumber && types.Compare(t, ast.Minus.Decl.Result()) == 0 {
			return "", "" // of two numbers, for all that is known; sets have a minus, too
		}
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
	case shapeTexts:
		return textsMisfit(t)
	case shapeOrder, shapeStrings, shapeObjects:
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

// textsMisfit is misfit for an object whose values are all strings.
func textsMisfit(t types.Type) (got, try string) {
	object, ok := t.(*types.Object)
	if !ok {
		return types.Sprint(t), ""
	}
	for _, p := range object.StaticProperties() {
		if got, try = misfit(p.Value, shapeString); got != "" {
			return fmt.Sprintf("an object whose %v is %s", p.Key, got), cmp.Or(try, "sprintf(\"%v\", […])")
		}
	}
	if dynamic := object.DynamicProperties(); dynamic != nil {
		if got, try = misfit(dynamic.Value, shapeString); got != "" {
			return "an object with values of type " + got, cmp.Or(try, "sprintf(\"%v\", […])")
		}
	}
	return "", ""
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
