package engine

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/holdshort/holdshort/policies"
)

// inference follows the contract's types, and the values of the data, through the
// variables of one rule. The compiler does that too, but its schemas know nothing
// of what is kept by name: an amount in input.workload.total, a queue of the data,
// or anything below custom, is anything to it.
type inference struct {
	*inferences
	vars map[ast.Var]meaning
	// meant is what the compiler's own variables stand for.
	meant map[ast.Var]string
}

// inferences are those of the rules of a policy, each made once.
type inferences struct {
	compiler *ast.Compiler
	custom   any // of the data
	done     map[*ast.Rule]*inference
}

// mostPasses over one rule: the author of a policy decides how long it is.
const mostPasses = 4

func (i *inferences) of(rule *ast.Rule) *inference {
	if f := i.done[rule]; f != nil {
		return f
	}
	f := &inference{inferences: i, vars: map[ast.Var]meaning{}, meant: map[ast.Var]string{}}
	i.done[rule] = f
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
			if f.open(ref[i]) {
				f.bindElement(f.typeOf(ast.NewTerm(ref[:i])), ref[i], nil)
			}
		}
		return false
	})
	if !expr.IsCall() || expr.Negated || len(expr.With) > 0 {
		return
	}
	operands := expr.Operands()
	if expr.IsEquality() && len(operands) == 2 {
		for i, other := range []*ast.Term{operands[1], operands[0]} {
			if f.open(operands[i]) {
				f.bind(operands[i], f.typeOf(other))
			}
			f.remember(operands[i], func() *ast.Term { return other })
		}
		return
	}
	if last := len(operands) - 1; last >= 0 {
		if f.open(operands[last]) {
			f.bind(operands[last], f.result(expr.Operator(), operands[:last]))
		}
		f.remember(operands[last], func() *ast.Term {
			return ast.CallTerm(append([]*ast.Term{ast.NewTerm(expr.Operator())}, operands[:last]...)...)
		})
	}
}

// remember is for messages.
func (f *inference) remember(term *ast.Term, meant func() *ast.Term) {
	name, ok := term.Value.(ast.Var)
	if !ok || f.meant[name] != "" {
		return
	}
	if _, original := f.compiler.RewrittenVars[name]; !original {
		f.meant[name] = f.text(meant())
	}
}

// open is a variable of which nothing is known yet.
func (f *inference) open(term *ast.Term) bool {
	name, ok := term.Value.(ast.Var)
	return ok && !isRoot(name) && !f.vars[name].known()
}

func (f *inference) bind(term *ast.Term, m meaning) {
	if f.open(term) && m.known() {
		f.vars[term.Value.(ast.Var)] = m
	}
}

// bindElement is what the key and the value of an element of m are.
func (f *inference) bindElement(m meaning, key, value *ast.Term) {
	if key != nil {
		f.bind(key, m.key())
	}
	if value != nil {
		f.bind(value, m.element())
	}
}

// typeOf is unknown where nothing is known.
func (f *inference) typeOf(term *ast.Term) meaning {
	switch v := term.Value.(type) {
	case ast.String:
		return typed[string]()
	case ast.Number:
		return typed[int64]()
	case ast.Boolean:
		return typed[bool]()
	case ast.Var:
		return f.vars[v]
	case ast.Ref:
		m, rest := f.root(v)
		for _, element := range rest {
			m = f.step(m, element)
		}
		return m
	}
	return meaning{}
}

// root is where a reference begins that leads to something of the contract.
func (f *inference) root(ref ast.Ref) (meaning, ast.Ref) {
	switch path := constantPath(ref); {
	case ref[0].Equal(ast.InputRootDocument):
		return typed[policies.Input](), ref[1:]
	case !ref[0].Equal(ast.DefaultRootDocument):
		if name, ok := ref[0].Value.(ast.Var); ok {
			return f.vars[name], ref[1:]
		}
	case len(path) >= 2 && slices.Equal(path[:2], []string{"holdshort", "config"}):
		return typed[policies.Config](), ref[3:]
	default:
		return f.ofRule(ref, len(path)+1)
	}
	return meaning{}, nil
}

// ofRule is the value of a rule that stands for one thing, such as
//
//	settings := data.holdshort.config.custom.order
func (f *inference) ofRule(ref ast.Ref, constant int) (meaning, ast.Ref) {
	for n := constant; n > 2; n-- {
		rules := f.compiler.GetRulesExact(ref[:n])
		if len(rules) == 0 {
			continue
		}
		rule := rules[0]
		if len(rules) > 1 || rule.Else != nil || rule.Default || len(rule.Head.Args) > 0 ||
			rule.Head.DocKind() != ast.CompleteDoc || rule.Head.Value == nil {
			return meaning{}, nil
		}
		return f.of(rule).typeOf(rule.Head.Value), ref[n:]
	}
	return meaning{}, nil
}

// result is what a function gives.
func (f *inference) result(operator ast.Ref, arguments []*ast.Term) meaning {
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
		return typed[int64]()
	case types.String:
		return typed[string]()
	case types.Boolean:
		return typed[bool]()
	}
	return meaning{}
}

// found is what object.get gives, if its default is of the same kind.
func (f *inference) found(arguments []*ast.Term) meaning {
	of := f.typeOf(arguments[0])
	m := f.step(of, arguments[1])
	if m.t == nil && m.known() && len(m.values) == len(of.values) {
		return m // the default is never needed
	}
	if otherwise := f.typeOf(arguments[2]); m.known() && slices.Equal(otherwise.kinds(), m.kinds()) {
		return m
	}
	return meaning{}
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
