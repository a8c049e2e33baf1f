package engine

import (
	"reflect"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/holdshort/holdshort/policies"
)

// inference follows the contract's types through the variables of one rule. The
// compiler does that too, but its schemas know nothing of what is kept by name:
// an amount in input.workload.total, or a queue of the data, is anything to it.
type inference struct {
	compiler *ast.Compiler
	vars     map[ast.Var]reflect.Type
	// meant is what the compiler's own variables stand for.
	meant map[ast.Var]string
}

// mostPasses over one rule: the author of a policy decides how long it is.
const mostPasses = 4

func infer(compiler *ast.Compiler, rule *ast.Rule) *inference {
	f := &inference{compiler: compiler, vars: map[ast.Var]reflect.Type{}, meant: map[ast.Var]string{}}
	// What is said before of a variable may follow from what is said after it. The
	// compiler has sorted that within a body, so few passes are enough.
	for pass, known := 0, -1; pass < mostPasses && known < len(f.vars); pass++ {
		known = len(f.vars)
		ast.WalkBodies(rule, func(body ast.Body) bool {
			for _, expr := range body {
				f.learn(expr)
			}
			return false
		})
	}
	return f
}

func (f *inference) learn(expr *ast.Expr) {
	if every, ok := expr.Terms.(*ast.Every); ok {
		f.bindElement(f.typeOf(every.Domain), every.Key, every.Value)
		return
	}
	ast.WalkRefs(expr, func(ref ast.Ref) bool {
		for i := 1; i < len(ref); i++ {
			f.bindElement(f.typeOf(ast.NewTerm(ref[:i])), ref[i], nil)
		}
		return false
	})
	if !expr.IsCall() || expr.Negated || len(expr.With) > 0 {
		return
	}
	operands := expr.Operands()
	if expr.IsEquality() && len(operands) == 2 {
		for i, other := range []*ast.Term{operands[1], operands[0]} {
			f.bind(operands[i], f.typeOf(other))
			f.remember(operands[i], other)
		}
		return
	}
	if last := len(operands) - 1; last >= 0 {
		f.bind(operands[last], f.result(expr.Operator(), operands[:last]))
		f.remember(operands[last], ast.CallTerm(append([]*ast.Term{ast.NewTerm(expr.Operator())}, operands[:last]...)...))
	}
}

// remember is for messages.
func (f *inference) remember(term, meant *ast.Term) {
	name, ok := term.Value.(ast.Var)
	if _, original := f.compiler.RewrittenVars[name]; ok && !original && f.meant[name] == "" {
		f.meant[name] = f.text(meant)
	}
}

func (f *inference) bind(term *ast.Term, t reflect.Type) {
	name, ok := term.Value.(ast.Var)
	if ok && t != nil && f.vars[name] == nil && !term.Equal(ast.InputRootDocument) && !term.Equal(ast.DefaultRootDocument) {
		f.vars[name] = t
	}
}

// bindElement is what the key and the value of an element of t are.
func (f *inference) bindElement(t reflect.Type, key, value *ast.Term) {
	if t == nil || t.Kind() != reflect.Map && t.Kind() != reflect.Slice {
		return
	}
	if key != nil && t.Kind() == reflect.Map {
		f.bind(key, reflect.TypeFor[string]())
	} else if key != nil {
		f.bind(key, reflect.TypeFor[int64]())
	}
	if value != nil {
		f.bind(value, known(t.Elem()))
	}
}

// typeOf is nil where nothing is known.
func (f *inference) typeOf(term *ast.Term) reflect.Type {
	switch v := term.Value.(type) {
	case ast.String:
		return reflect.TypeFor[string]()
	case ast.Number:
		return reflect.TypeFor[int64]()
	case ast.Boolean:
		return reflect.TypeFor[bool]()
	case ast.Var:
		return f.vars[v]
	case ast.Ref:
		t, rest := f.root(v)
		for _, element := range rest {
			t = step(t, element)
		}
		return t
	}
	return nil
}

// root is where a reference begins that leads to something of the contract.
func (f *inference) root(ref ast.Ref) (reflect.Type, ast.Ref) {
	switch path := constantPath(ref); {
	case ref[0].Equal(ast.InputRootDocument):
		return reflect.TypeFor[policies.Input](), ref[1:]
	case !ref[0].Equal(ast.DefaultRootDocument):
		if name, ok := ref[0].Value.(ast.Var); ok {
			return f.vars[name], ref[1:]
		}
	case len(path) >= 2 && slices.Equal(path[:2], []string{"holdshort", "config"}):
		return reflect.TypeFor[policies.Config](), ref[3:]
	}
	return nil, nil
}

// step is the type of an element of t.
func step(t reflect.Type, element *ast.Term) reflect.Type {
	switch {
	case t == nil:
		return nil
	case t.Kind() == reflect.Map, t.Kind() == reflect.Slice:
		return known(t.Elem())
	case t.Kind() != reflect.Struct:
		return nil
	}
	name, constant := element.Value.(ast.String)
	// What the catalog sees of the machines is not what hold sees.
	if !constant || t == reflect.TypeFor[policies.Input]() && name == "capacity" {
		return nil
	}
	for i := range t.NumField() {
		if tag := t.Field(i).Tag.Get("json"); tag == string(name) || strings.HasPrefix(tag, string(name)+",") {
			return known(t.Field(i).Type)
		}
	}
	return nil
}

// known leaves out what has another form in data than in Go.
func known(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[policies.Limit]() || t == reflect.TypeFor[policies.OrderKey]() || t.Kind() == reflect.Interface {
		return nil
	}
	return t
}

// result is what a function gives.
func (f *inference) result(operator ast.Ref, arguments []*ast.Term) reflect.Type {
	if operator.String() == ast.ObjectGet.Name && len(arguments) == 3 {
		return f.found(arguments)
	}
	var result types.Type
	if builtin, ok := ast.BuiltinMap[operator.String()]; ok && builtin.Decl.Arity() == len(arguments) {
		result = builtin.Decl.Result()
	} else if function, ok := f.compiler.TypeEnv.GetByRef(operator).(*types.Function); ok && function.Arity() == len(arguments) {
		result = function.Result()
	}
	if named, ok := result.(*types.NamedType); ok {
		result = named.Type
	}
	switch result.(type) {
	case types.Number:
		return reflect.TypeFor[int64]()
	case types.String:
		return reflect.TypeFor[string]()
	case types.Boolean:
		return reflect.TypeFor[bool]()
	}
	return nil
}

// found is what object.get gives, if its default is of the same kind.
func (f *inference) found(arguments []*ast.Term) reflect.Type {
	t := step(f.typeOf(arguments[0]), arguments[1])
	if otherwise := f.typeOf(arguments[2]); otherwise != nil && t != nil && otherwise.Kind() == t.Kind() {
		return t
	}
	return nil
}

// text is a term as its author wrote it: the compiler has renamed the variables.
func (f *inference) text(term *ast.Term) string {
	text := term.String()
	ast.WalkVars(term, func(name ast.Var) bool {
		if original, renamed := f.compiler.RewrittenVars[name]; renamed {
			text = strings.ReplaceAll(text, string(name), string(original))
		} else if meant := f.meant[name]; meant != "" {
			text = strings.ReplaceAll(text, string(name), meant)
		}
		return false
	})
	if strings.Contains(text, "__local") || len(text) > mostLine {
		return "the value"
	}
	return strings.ReplaceAll(text, "data.holdshort.lib.", "lib.")
}
