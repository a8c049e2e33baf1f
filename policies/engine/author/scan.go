package author

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies/engine"
)

// scans finds searches through an object for one key:
//
//	some name, queue in data.holdshort.config.queues
//	name == input.workload.queue
//
// They take as long as the object is big; a lookup by key does not. It looks at
// the text as it was written: the compiler makes == and := the same.
func scans(module *ast.Module) []engine.Problem {
	var found []engine.Problem
	for _, rule := range module.Rules {
		s := &search{imports: map[ast.Var]bool{}, bound: map[ast.Var]bool{}, compared: map[ast.Var]bool{}, over: map[ast.Var]ast.Ref{}}
		for _, imported := range module.Imports {
			s.imports[imported.Name()] = true
		}
		ast.WalkExprs(rule, s.expr)
		ast.WalkRefs(rule, s.ref)
		for _, v := range s.order {
			if s.compared[v] && !s.bound[v] {
				ref := s.over[v]
				found = append(found, at(ref[0].Location, LintScan,
					fmt.Sprintf("this looks at all of %s to find one key", ref), fmt.Sprintf("%s[KEY]", ref)))
			}
		}
	}
	return found
}

// search is what one rule does with its variables.
type search struct {
	imports  map[ast.Var]bool
	bound    map[ast.Var]bool    // has its value from elsewhere
	compared map[ast.Var]bool    // must be equal to something
	over     map[ast.Var]ast.Ref // runs over the keys of this
	order    []ast.Var           // of over
}

func (s *search) expr(expr *ast.Expr) bool {
	if some, ok := expr.Terms.(*ast.SomeDecl); ok {
		s.some(some)
		return false
	}
	if !expr.IsCall() || expr.Negated || len(expr.Operands()) != 2 {
		return false
	}
	for i := range 2 {
		v, ok := expr.Operand(i).Value.(ast.Var)
		switch {
		case !ok || contains(expr.Operand(1-i), v):
		case expr.IsEquality() || expr.IsAssignment():
			s.bound[v] = true
		case expr.Operator().String() == ast.Equal.Name:
			s.compared[v] = true
		}
	}
	return false
}

// some reads `some key, value in object`.
func (s *search) some(decl *ast.SomeDecl) {
	for _, symbol := range decl.Symbols {
		call, ok := symbol.Value.(ast.Call)
		if !ok || len(call) != 4 {
			continue
		}
		key, isVar := call[1].Value.(ast.Var)
		object, isRef := call[3].Value.(ast.Ref)
		if isVar && isRef && object.IsGround() {
			s.add(key, object)
		}
	}
}

// ref reads object[key].
func (s *search) ref(ref ast.Ref) bool {
	prefix := ref.GroundPrefix()
	if len(prefix) < len(ref) {
		if key, ok := ref[len(prefix)].Value.(ast.Var); ok {
			s.add(key, prefix)
		}
	}
	return false
}

func (s *search) add(key ast.Var, object ast.Ref) {
	head, _ := object[0].Value.(ast.Var)
	document := object[0].Equal(ast.DefaultRootDocument) || object[0].Equal(ast.InputRootDocument)
	if _, again := s.over[key]; again || !s.imports[head] && (!document || len(object) < 2) {
		return
	}
	s.over[key] = object
	s.order = append(s.order, key)
}

func contains(term *ast.Term, v ast.Var) bool {
	found := false
	ast.WalkVars(term, func(other ast.Var) bool {
		found = found || other == v
		return found
	})
	return found
}
