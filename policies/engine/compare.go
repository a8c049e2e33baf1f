package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// checkComparisons refuses comparisons that always have the same outcome, since
// they compare a string with a number, and names that what a variable stands for
// does not have. Rego is content with both: any string is more than any number.
func checkComparisons(compiler *ast.Compiler) []Problem {
	var problems []Problem
	for _, module := range compiler.Modules {
		if strings.HasPrefix(module.Package.Location.File, defaultsPrefix) {
			continue
		}
		for _, rule := range module.Rules {
			if strings.HasSuffix(rulePath(rule), locatedSuffix) {
				continue
			}
			f := infer(compiler, rule)
			ast.WalkBodies(rule, func(body ast.Body) bool {
				for _, expr := range body {
					problems = append(problems, f.check(expr)...)
				}
				return false
			})
		}
	}
	sortProblems(problems)
	return slices.Compact(problems)
}

func (f *inference) check(expr *ast.Expr) []Problem {
	if len(expr.With) > 0 {
		return nil
	}
	var problems []Problem
	if message, try := f.mismatch(expr); message != "" {
		problems = append(problems, problemAt(expr.Location, CodeType, message, try))
	}
	ast.WalkRefs(expr, func(ref ast.Ref) bool {
		if at, message, try := f.noField(ref); message != "" {
			problems = append(problems, problemAt(at, CodeReads, message, try))
		}
		return false
	})
	return problems
}

// mismatch is about a comparison of what can't be compared.
func (f *inference) mismatch(expr *ast.Expr) (message, try string) {
	comparisons := []string{ast.Equality.Name, ast.Equal.Name, ast.NotEqual.Name, ast.LessThan.Name,
		ast.LessThanEq.Name, ast.GreaterThan.Name, ast.GreaterThanEq.Name}
	if !expr.IsCall() || len(expr.Operands()) < 2 || !slices.Contains(comparisons, expr.Operator().String()) {
		return "", ""
	}
	a, b := expr.Operand(0), expr.Operand(1)
	if ast.IsConstant(a.Value) {
		a, b = b, a
	}
	left, right := kindOfType(f.typeOf(a)), kindOfType(f.typeOf(b))
	if left == "" || right == "" || left == right {
		return "", ""
	}
	message = fmt.Sprintf("%s is %s and is compared with %s, which is %s", f.text(a), left, f.text(b), right)
	constant, isText := b.Value.(ast.String)
	if _, err := strconv.ParseInt(string(constant), 10, 64); isText && err == nil && left == "a number" {
		return message, string(constant) + " without quotes"
	}
	if left == "a string" && right == "a number" {
		return message, "to_number(" + f.text(a) + ")"
	}
	return message, "the same type on both sides"
}

// noField is about a name that the object a variable stands for does not have.
// Those of input and of data itself are found by what the rules read.
func (f *inference) noField(ref ast.Ref) (at *ast.Location, message, try string) {
	t, rest := f.root(ref)
	for i, element := range rest {
		name, constant := element.Value.(ast.String)
		if t == nil || t == reflect.TypeFor[policies.Input]() {
			return nil, "", ""
		}
		if t.Kind() == reflect.Struct && constant {
			fields, names := structFields(t)
			if _, there := fields[string(name)]; !there {
				parent := ast.NewTerm(ref[:len(ref)-len(rest)+i])
				message, try = noSuch(f.text(parent), string(name), names)
				return element.Location, message, try
			}
		}
		t = step(t, element)
	}
	return nil, "", ""
}

// kindOfType is the form of a type in a policy.
func kindOfType(t reflect.Type) string {
	if t == nil {
		return ""
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return ""
}
