package author

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// known is what is known of a value without evaluating anything.
type known string

const (
	unknown known = ""
	aString known = "string"
	aNumber known = "number"
)

// maxSteps is how long a chain of variables is followed.
const maxSteps = 4

// inference finds out which variables of a rule are strings and which numbers.
type inference struct {
	compiler *ast.Compiler
	vars     map[ast.Var]known
}

// mixedComparisons: Rego compares types before values, so that "9" > 10 is true
// and "9" == 9 is false, whatever the numbers are.
func mixedComparisons(compiler *ast.Compiler, rule *ast.Rule) []engine.Problem {
	i := &inference{compiler: compiler, vars: map[ast.Var]known{}}
	for range maxSteps {
		ast.WalkExprs(rule, func(expr *ast.Expr) bool {
			i.learn(expr)
			return false
		})
	}
	var found []engine.Problem
	ast.WalkExprs(rule, func(expr *ast.Expr) bool {
		if !isComparison(expr) || len(expr.Operands()) < 2 {
			return false
		}
		a, b := i.of(expr.Operand(0)), i.of(expr.Operand(1))
		if a != unknown && b != unknown && a != b {
			found = append(found, at(expr.Location, LintCompare,
				fmt.Sprintf("a %s is compared with a %s, which does not depend on their values", a, b), "to_number(…) around the string"))
		}
		return false
	})
	return found
}

func isComparison(expr *ast.Expr) bool {
	if !expr.IsCall() {
		return false
	}
	names := []string{ast.Equality.Name, ast.Equal.Name, ast.NotEqual.Name, ast.LessThan.Name, ast.LessThanEq.Name, ast.GreaterThan.Name, ast.GreaterThanEq.Name}
	return slices.Contains(names, expr.Operator().String())
}

// learn takes x from x = value and from f(a, x).
func (i *inference) learn(expr *ast.Expr) {
	if !expr.IsCall() {
		return
	}
	operands := expr.Operands()
	if expr.IsEquality() && len(operands) == 2 {
		i.set(operands[0], i.of(operands[1]))
		i.set(operands[1], i.of(operands[0]))
		return
	}
	if name, ok := strings.CutPrefix(expr.Operator().String(), "data.holdshort.lib."); ok {
		i.set(operands[len(operands)-1], ofLibrary(name))
		return
	}
	function, ok := i.compiler.TypeEnv.GetByRef(expr.Operator()).(*types.Function)
	if builtin := ast.BuiltinMap[expr.Operator().String()]; builtin != nil {
		function, ok = builtin.Decl, true
	}
	if ok && function.Result() != nil && len(operands) == function.Arity()+1 {
		i.set(operands[len(operands)-1], knownType(function.Result()))
	}
}

// ofLibrary is what the compiler cannot know: object.get gives anything.
func ofLibrary(function string) known {
	switch function {
	case "label", "annotation":
		return aString
	case "total":
		return aNumber
	}
	return unknown
}

// set believes what it was told first: x = "a" before x == 3.
func (i *inference) set(term *ast.Term, is known) {
	if v, ok := term.Value.(ast.Var); ok && i.vars[v] == unknown {
		i.vars[v] = is
	}
}

func (i *inference) of(term *ast.Term) known {
	switch v := term.Value.(type) {
	case ast.String:
		return aString
	case ast.Number:
		return aNumber
	case ast.Var:
		return i.vars[v]
	case ast.Ref:
		return i.ofRef(v)
	}
	return unknown
}

// ofRef follows the contract's Go types, and what the compiler knows of rules.
func (i *inference) ofRef(ref ast.Ref) known {
	if ref[0].Equal(ast.InputRootDocument) {
		return follow(reflect.TypeFor[policies.Input](), ref[1:])
	}
	config := ast.MustParseRef("data.holdshort.config")
	if ref.HasPrefix(config) {
		return follow(reflect.TypeFor[policies.Config](), ref[len(config):])
	}
	if t := i.compiler.TypeEnv.GetByRef(ref); t != nil {
		return knownType(t)
	}
	return unknown
}

// follow walks a path through Go types; any key fits a map or list.
func follow(t reflect.Type, path ast.Ref) known {
	for _, step := range path {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Map, reflect.Slice:
			t = t.Elem()
		case reflect.Struct:
			name, ok := step.Value.(ast.String)
			field, there := fieldNamed(t, string(name))
			if !ok || !there {
				return unknown
			}
			t = field.Type
		default:
			return unknown
		}
	}
	switch {
	case t == reflect.TypeFor[policies.Limit]():
		return unknown // text or number, as it was written
	case t.Kind() == reflect.String:
		return aString
	case t.Kind() == reflect.Int64:
		return aNumber
	}
	return unknown
}

func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
}

func knownType(t types.Type) known {
	switch t := t.(type) {
	case *types.NamedType:
		return knownType(t.Type)
	case types.String:
		return aString
	case types.Number:
		return aNumber
	}
	return unknown
}
