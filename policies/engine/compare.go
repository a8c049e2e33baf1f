package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/holdshort/holdshort/policies"
)

// checkComparisons refuses comparisons that always have the same outcome, since
// they compare a string with a number, built-ins that are given what they do not
// take, and names that what a variable stands for does not have. Rego is content
// with all of it: any string is more than any number, and what a built-in does
// not take is an error only when a Job is asked about. What is so for some values
// of the data alone is warned of: the rule may look at the type first.
func checkComparisons(compiler *ast.Compiler, custom any) (problems, warnings []Problem) {
	inferred := &inferences{compiler: compiler, custom: custom, done: map[*ast.Rule]*inference{}}
	for _, module := range compiler.Modules {
		if strings.HasPrefix(module.Package.Location.File, defaultsPrefix) {
			continue
		}
		for _, rule := range module.Rules {
			if strings.HasSuffix(rulePath(rule), locatedSuffix) {
				continue
			}
			c := &comparisons{inference: inferred.of(rule), asked: map[string]bool{}}
			ast.WalkExprs(rule, c.note)
			ast.WalkBodies(rule, func(body ast.Body) bool {
				for _, expr := range body {
					c.check(expr)
				}
				return false
			})
			problems, warnings = append(problems, c.problems...), append(warnings, c.warnings...)
		}
	}
	sortProblems(problems)
	sortProblems(warnings)
	return slices.Compact(problems), slices.Compact(warnings)
}

// comparisons are those of one rule.
type comparisons struct {
	*inference
	// asked are the paths of the data whose type the rule itself asks for.
	asked              map[string]bool
	problems, warnings []Problem
}

func (c *comparisons) note(expr *ast.Expr) bool {
	if !expr.IsCall() || len(expr.Operands()) == 0 {
		return false
	}
	if name := operatorName(expr); strings.HasPrefix(name, "is_") || name == ast.TypeNameBuiltin.Name {
		c.asked[c.typeOf(expr.Operand(0)).path] = true
	}
	return false
}

// kinds of a term are unknown if the rule looks at them itself.
func (c *comparisons) kinds(m meaning) []string {
	if m.path != "" && c.asked[m.path] {
		return nil
	}
	return m.kinds()
}

func (c *comparisons) check(expr *ast.Expr) {
	if len(expr.With) > 0 {
		return
	}
	if expr.IsCall() {
		c.compare(expr)
		c.call(expr)
	}
	ast.WalkRefs(expr, func(ref ast.Ref) bool {
		if at, message, try := c.noField(ref); message != "" {
			c.problems = append(c.problems, problemAt(at, CodeReads, message, try))
		}
		return false
	})
}

// clash tells of two kinds that do not go together: for all values, or for some.
func (c *comparisons) clash(expr *ast.Expr, message, try string, all bool) {
	if problem := problemAt(expr.Location, CodeType, message, try); all {
		c.problems = append(c.problems, problem)
	} else {
		c.warnings = append(c.warnings, problem)
	}
}

// compare is about a comparison of what can't be compared.
func (c *comparisons) compare(expr *ast.Expr) {
	if len(expr.Operands()) < 2 || !isComparison(operatorName(expr)) {
		return
	}
	a, b := expr.Operand(0), expr.Operand(1)
	if ast.IsConstant(a.Value) {
		a, b = b, a
	}
	left, right := c.typeOf(a), c.typeOf(b)
	kinds, others := c.kinds(left), c.kinds(right)
	if len(kinds) == 0 || len(others) == 0 || slices.Equal(kinds, others) || len(kinds) > 1 && len(others) > 1 {
		return
	}
	message := fmt.Sprintf("%s is %s and is compared with %s, which is %s",
		c.text(a), strings.Join(kinds, " or "), c.text(b), strings.Join(others, " or "))
	all := !slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(others, kind) })
	c.clash(expr, message, c.comparable(a, b, left, right), all)
}

func isComparison(operator string) bool {
	switch operator {
	case ast.Equality.Name, ast.Equal.Name, ast.NotEqual.Name, ast.LessThan.Name,
		ast.LessThanEq.Name, ast.GreaterThan.Name, ast.GreaterThanEq.Name:
		return true
	}
	return false
}

// operatorName is what a call calls: plus, or data.holdshort.lib.total.
func operatorName(call *ast.Expr) string {
	operator := call.Operator()
	if name, ok := operator[0].Value.(ast.Var); ok && len(operator) == 1 {
		return string(name) // most of them, and at no cost
	}
	return operator.String()
}

// comparable is how two sides could be compared.
func (c *comparisons) comparable(a, b *ast.Term, left, right meaning) string {
	kinds, others := left.kinds(), right.kinds()
	constant, isText := b.Value.(ast.String)
	_, err := strconv.ParseInt(string(constant), 10, 64)
	switch {
	case slices.Contains(kinds, "a string") && len(left.values) > 0 && slices.Contains(others, "a number"):
		return unquoted(left)
	case slices.Contains(others, "a string") && len(right.values) > 0 && slices.Contains(kinds, "a number"):
		return unquoted(right)
	case isText && err == nil && slices.Equal(kinds, []string{"a number"}):
		return string(constant) + " without quotes"
	case slices.Equal(kinds, []string{"a string"}) && slices.Equal(others, []string{"a number"}):
		return "to_number(" + c.text(a) + ")"
	}
	return "the same type on both sides"
}

// unquoted is how the data should have what it has as a string.
func unquoted(m meaning) string {
	if m.looksLikeNumbers() {
		return m.path + " without quotes in the data"
	}
	return "a number as " + m.path + " in the data"
}

// call is about a built-in that does not take what it is given.
func (c *comparisons) call(expr *ast.Expr) {
	builtin, known := ast.BuiltinMap[operatorName(expr)]
	if !known {
		return
	}
	for i, wanted := range builtin.Decl.FuncArgs().Args {
		if i >= len(expr.Operands()) {
			return
		}
		operand := expr.Operand(i)
		given := c.typeOf(operand)
		kinds := c.kinds(given)
		unfit := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return takes(wanted, kind) })
		if len(unfit) == 0 {
			continue
		}
		name := builtin.Name
		if builtin.Infix != "" {
			name = builtin.Infix
		}
		try := wantedKind(wanted)
		switch number := takes(wanted, "a number"); {
		case len(given.values) > 0 && number && slices.Contains(unfit, "a string"):
			try = unquoted(given)
		case len(given.values) > 0:
			try = fmt.Sprintf("%s as %s in the data", wantedKind(wanted), given.path)
		case number && slices.Contains(unfit, "a string"):
			try = "to_number(" + c.text(operand) + ")"
		}
		c.clash(expr, fmt.Sprintf("%s is %s, and %s wants %s", c.text(operand), strings.Join(unfit, " or "), name, wantedKind(wanted)),
			try, len(unfit) == len(kinds))
	}
}

// allKinds are the forms of values that are told apart here.
func allKinds() []string {
	return []string{"a number", "a string", "true or false", "an array", "an object"}
}

func wantedKind(wanted types.Type) string {
	kinds := slices.DeleteFunc(allKinds(), func(kind string) bool { return !takes(wanted, kind) })
	if len(kinds) == 0 {
		return types.Sprint(wanted)
	}
	return strings.Join(kinds, " or ")
}

// takes says whether a value of the kind can be of the type.
func takes(t types.Type, kind string) bool {
	switch t := t.(type) {
	case *types.NamedType:
		return takes(t.Type, kind)
	case types.Any:
		return len(t) == 0 || slices.ContainsFunc(t, func(one types.Type) bool { return takes(one, kind) })
	case types.Number:
		return kind == "a number"
	case types.String:
		return kind == "a string"
	case types.Boolean:
		return kind == "true or false"
	case *types.Array:
		return kind == "an array"
	case *types.Object:
		return kind == "an object"
	case *types.Set, types.Null:
		return false
	}
	return true
}

// noField is about a name that the object a variable stands for does not have.
// Those of input and of data itself are found by what the rules read.
func (f *inference) noField(ref ast.Ref) (at *ast.Location, message, try string) {
	m, rest := f.root(ref)
	for i, element := range rest {
		name, constant := element.Value.(ast.String)
		if m.t == nil || m.t == reflect.TypeFor[policies.Input]() {
			return nil, "", ""
		}
		if m.t.Kind() == reflect.Struct && constant {
			if _, there := fieldNamed(m.t, string(name)); !there {
				_, names := structFields(m.t)
				parent := ast.NewTerm(ref[:len(ref)-len(rest)+i])
				message, try = noSuch(f.text(parent), string(name), names)
				return element.Location, message, try
			}
		}
		m = f.step(m, element)
	}
	return nil, "", ""
}
