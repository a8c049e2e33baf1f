package engine

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// ruleReader follows the local names of one rule. An alias is a name that is
// bound once, to a constant path; what is read of it is then a read of that
// path. The compiler gives every local name a number of its own.
type ruleReader struct {
	*reader
	constants map[ast.Var]string
	aliases   map[ast.Var][]string // root first
	bound     map[ast.Var]int
	plain     map[ast.Var]bool // also used as a value as it is
	at        *ast.Location
}

func (s *ruleReader) follow(rule *ast.Rule) {
	s.at = rule.Location
	s.bound = map[ast.Var]int{}
	ast.WalkExprs(rule, func(e *ast.Expr) bool { s.bind(e); return false })
	for name := range s.aliases {
		if s.bound[name] != 1 {
			delete(s.aliases, name)
		}
	}
	// Which aliases are used as values must be known before the first read is noted.
	for _, visit := range []func(any) bool{s.findPlain, s.note} {
		walker := ast.NewGenericVisitor(visit)
		for link := rule; link != nil; link = link.Else {
			if reference := link.Head.Reference; len(reference) > 1 {
				for _, term := range reference[1:] {
					walker.Walk(term)
				}
			}
		}
		walker.Walk(rule)
	}
}

// bind counts what a name is set equal to.
func (s *ruleReader) bind(e *ast.Expr) {
	name, ref := binding(e)
	if name == "" {
		return
	}
	s.bound[name]++
	if ref == nil || !name.IsGenerated() || len(e.With) > 0 {
		s.bound[name]++ // no alias
		return
	}
	path := constantPath(ref)
	if head, ok := ref[0].Value.(ast.Var); ok && len(path) == len(ref)-1 && isRoot(head) {
		s.aliases[name] = append([]string{string(head)}, path...)
	}
}

// binding is name = ref; ref is nil if it is anything else.
func binding(e *ast.Expr) (ast.Var, ast.Ref) {
	if !e.IsEquality() || e.Operand(1) == nil {
		return "", nil
	}
	left, right := e.Operand(0).Value, e.Operand(1).Value
	name, ok := left.(ast.Var)
	if !ok {
		left, right = right, left
		name, ok = left.(ast.Var)
	}
	if !ok {
		return "", nil
	}
	ref, _ := right.(ast.Ref)
	return name, ref
}

func isRoot(name ast.Var) bool {
	return name == ast.InputRootDocument.Value || name == ast.DefaultRootDocument.Value
}

// findPlain marks the aliases that are used other than to read a part of them.
func (s *ruleReader) findPlain(x any) bool {
	switch x := x.(type) {
	case *ast.Expr:
		if name, ref := binding(x); ref != nil && s.aliases[name] != nil {
			return true
		}
		if _, _, ok := s.lookup(x); ok {
			s.walkRest(x, 2, s.findPlain)
			return true
		}
	case ast.Ref:
		s.walkRef(x, s.findPlain)
		return true
	case ast.Var:
		s.plain[x] = true
	}
	return false
}

// note notes the reads.
func (s *ruleReader) note(x any) bool {
	switch x := x.(type) {
	case *ast.Expr:
		if x.Location != nil {
			s.at = x.Location
		}
		if name, ref := binding(x); ref != nil && s.aliases[name] != nil {
			s.noteRef(ref, !s.plain[name])
			return true
		}
		if ref, key, ok := s.lookup(x); ok {
			s.notePath(ref, append(s.pathOf(ref), key...), true)
			s.walkRest(x, 2, s.note)
			return true
		}
		if s.call(x) {
			s.walkRest(x, 0, s.note)
			return true
		}
	case ast.Ref:
		s.noteRef(x, false)
		s.walkRef(x, s.note)
		return true
	case ast.String:
		s.words = append(s.words, string(x))
	case ast.Var:
		if isRoot(x) {
			s.read(x, nil, s.at, true)
		}
	}
	return false
}

func (s *ruleReader) walkRef(ref ast.Ref, visit func(any) bool) {
	walker := ast.NewGenericVisitor(visit)
	if _, ok := ref[0].Value.(ast.Var); !ok {
		walker.Walk(ref[0])
	}
	if len(ref) == 1 {
		walker.Walk(ref[0])
	}
	for _, term := range ref[1:] {
		walker.Walk(term)
	}
}

// walkRest walks the operands of a call from one on, and what is put in place of others.
func (s *ruleReader) walkRest(e *ast.Expr, from int, visit func(any) bool) {
	walker := ast.NewGenericVisitor(visit)
	for _, term := range e.Operands()[from:] {
		walker.Walk(term)
	}
	for _, with := range e.With {
		walker.Walk(with)
	}
}

// lookup is object.get(path, key, …) with a key that is known.
func (s *ruleReader) lookup(e *ast.Expr) (of ast.Ref, key []string, ok bool) {
	if !e.IsCall() || operatorName(e) != ast.ObjectGet.Name || len(e.Operands()) < 3 {
		return nil, nil, false
	}
	switch first := e.Operand(0).Value.(type) {
	case ast.Var:
		if s.aliases[first] == nil {
			return nil, nil, false
		}
		of = ast.Ref{e.Operand(0)}
	case ast.Ref:
		if len(s.pathOf(first)) == 0 || !s.isConstant(first) {
			return nil, nil, false
		}
		of = first
	default:
		return nil, nil, false
	}
	switch k := e.Operand(1).Value.(type) {
	case ast.String:
		return of, []string{string(k)}, true
	case ast.Var:
		name, known := s.constants[k]
		return of, []string{name}, known
	case *ast.Array:
		key = constantPath(append(ast.Ref{ast.InputRootDocument}, terms(k)...))
		return of, key, len(key) == k.Len() && len(key) > 0
	}
	return nil, nil, false
}

func terms(array *ast.Array) []*ast.Term {
	all := make([]*ast.Term, array.Len())
	for i := range all {
		all[i] = array.Elem(i)
	}
	return all
}

// call follows a call of a function of the policy, with the arguments that are known.
func (s *ruleReader) call(e *ast.Expr) bool {
	ref := e.Operator()
	if len(ref) == 0 || !ref[0].Equal(ast.DefaultRootDocument) {
		return false
	}
	constants := map[int]string{}
	for i, operand := range e.Operands() {
		switch value := operand.Value.(type) {
		case ast.String:
			constants[i] = string(value)
		case ast.Var:
			if known, ok := s.constants[value]; ok {
				constants[i] = known
			}
		}
	}
	s.readData(ref.ConstantPrefix(), s.location(ref), constants, true)
	return true
}

// pathOf is the constant beginning of a ref with its root, aliases resolved;
// empty if it begins with neither.
func (s *ruleReader) pathOf(ref ast.Ref) []string {
	head, ok := ref[0].Value.(ast.Var)
	if !ok {
		return nil
	}
	var path []string
	switch {
	case isRoot(head):
		path = []string{string(head)}
	case s.aliases[head] != nil:
		path = slices.Clone(s.aliases[head])
	default:
		return nil
	}
	for _, term := range ref[1:] {
		key, ok := s.keyOf(term)
		if !ok {
			break
		}
		path = append(path, key)
	}
	return path
}

func (s *ruleReader) keyOf(term *ast.Term) (string, bool) {
	switch value := term.Value.(type) {
	case ast.String:
		return string(value), true
	case ast.Var:
		known, ok := s.constants[value]
		return known, ok
	}
	return "", false
}

func (s *ruleReader) isConstant(ref ast.Ref) bool {
	return !slices.ContainsFunc(ref[1:], func(t *ast.Term) bool { _, ok := s.keyOf(t); return !ok })
}

func (s *ruleReader) noteRef(ref ast.Ref, onlyThere bool) { s.notePath(ref, s.pathOf(ref), !onlyThere) }

func (s *ruleReader) notePath(ref ast.Ref, path []string, whole bool) {
	if len(path) > 0 {
		s.words = append(s.words, path[1:]...)
		s.read(ast.Var(path[0]), path[1:], s.location(ref), whole)
	}
}

// location is where a reference stands; that of an import is shared by all who
// use it, so it says nothing.
func (s *ruleReader) location(ref ast.Ref) *ast.Location {
	if at := ref[0].Location; at != nil && at.Row > 0 && (at.File != s.at.File || at.Row >= s.at.Row) && isRootText(at) {
		return at
	}
	return s.at
}

func isRootText(at *ast.Location) bool {
	return strings.HasPrefix(string(at.Text), "data") || strings.HasPrefix(string(at.Text), "input")
}
