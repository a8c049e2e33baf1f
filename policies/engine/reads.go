package engine

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// visitsMax bounds the analysis; beyond it everything counts as read.
const visitsMax = 20000

// reader finds what the rules of one group read, through helpers, functions and
// library too. It errs on the side of too much: what it can't follow counts as
// read with everything below it, for a part that is left out would be missing
// from the input.
type reader struct {
	compiler *ast.Compiler
	group    string
	asked    field // the field whose rules are looked at
	input    *view
	config   *view // below data.holdshort.config
	visited  map[string]bool
	lent     []string // read by the catalog, on behalf of the group
	problems []Problem
	// through is where a rule of the bundle asks an embedded one, which is being
	// looked at; nobody can mend those. refused is what is refused in those.
	through *passage
	refused map[string][]ungranted
	words   []string // constant texts of the rules
}

// passage is where the rules of the bundle ask an embedded one.
type passage struct {
	at   *ast.Location
	rule string // as its users write it: lib.user_used
	key  string // of the visit
}

// into is the passage by which a rule is looked at that is asked at a place.
func (p *passage) into(rule *ast.Rule, key string, at *ast.Location) *passage {
	switch {
	case !isEmbedded(rule.Location):
		return nil
	case p == nil && at != nil && !isEmbedded(at):
		return &passage{at: at, rule: rulePath(rule), key: key}
	}
	return p
}

// ungranted is a read that the contract does not give.
type ungranted struct {
	root string
	path []string
}

// readsOf is what a group reads of input and of the data, and what of that the
// contract does not give it. lent are parts of input that only the catalog's
// rules read, which the group's rules ask.
func readsOf(compiler *ast.Compiler, group string) *reader {
	r := &reader{compiler: compiler, group: group, input: newView(), config: newView(),
		visited: map[string]bool{}, refused: map[string][]ungranted{}}
	for _, f := range fieldsOf(group) {
		r.asked = f
		for _, rule := range sortedRules(compiler.GetRules(f.ref())) {
			r.visit(rule, nil, nil)
		}
	}
	r.input = r.input.restrict(append(mayRead(group), r.lent...))
	return r
}

// sortedRules are in the order of the text; a set of rules has none.
func sortedRules(rules []*ast.Rule) []*ast.Rule {
	slices.SortFunc(rules, func(a, b *ast.Rule) int { return a.Location.Compare(b.Location) })
	return rules
}

// visit looks at a rule, else branches included. constants are the arguments of
// a call that are constant strings, by position.
// It is asked at a place; nil for a rule that holdshort asks.
func (r *reader) visit(rule *ast.Rule, constants map[int]string, at *ast.Location) {
	asked := r.asked
	if f, ok := fieldAt(rulePath(rule)); ok && f.group == groupCatalog {
		r.asked = f
	}
	defer func() { r.asked = asked }()
	key := fmt.Sprintf("%s %p %v", r.asked.path(), rule, constants)
	through := r.through
	r.through = through.into(rule, key, at)
	defer func() { r.through = through }()
	if r.visited[key] {
		for _, refused := range r.refused[key] {
			r.check(refused.root, refused.path, at) // another rule asks the same
		}
		return
	}
	r.visited[key] = true
	if len(r.visited) > visitsMax {
		r.input.add(nil)
		r.config.add(nil)
		return
	}
	s := &ruleReader{reader: r, constants: map[ast.Var]string{}, aliases: map[ast.Var][]string{}, plain: map[ast.Var]bool{}}
	for link := rule; link != nil; link = link.Else {
		for i, arg := range link.Head.Args {
			name, isVar := arg.Value.(ast.Var)
			if value, known := constants[i]; known && isVar && name.IsGenerated() {
				s.constants[name] = value
			}
		}
	}
	s.follow(rule)
}

// read notes a read of a path below input or data.
func (r *reader) read(root ast.Value, path []string, at *ast.Location, whole bool) {
	if root.Compare(ast.InputRootDocument.Value) == 0 {
		r.check("input", path, at)
		r.lend(path)
		if whole {
			r.input.add(path)
		} else {
			r.input.touch(path)
		}
		return
	}
	ref := ast.Ref{ast.DefaultRootDocument}
	for _, name := range path {
		ref = append(ref, ast.StringTerm(name))
	}
	r.readData(ref, at, nil, whole)
}

// lend remembers what only the catalog may read: the group asks the catalog, so
// the same is lent to it.
func (r *reader) lend(path []string) {
	if r.asked.group == groupCatalog && r.group != groupCatalog && len(path) > 0 &&
		!slices.Contains(r.lent, path[0]) && !slices.Contains(mayRead(r.group), path[0]) {
		r.lent = append(r.lent, path[0])
	}
}

// readData follows a constant ref below data: to rules, to the config, or both.
func (r *reader) readData(ref ast.Ref, at *ast.Location, constants map[int]string, whole bool) {
	rules := sortedRules(r.compiler.GetRules(ref))
	for _, rule := range rules {
		r.visit(rule, constants, at)
	}
	path := constantPath(ref)
	config := []string{"holdshort", "config"}
	switch {
	case len(path) >= len(config) && slices.Equal(path[:len(config)], config):
		if below := path[len(config):]; whole {
			r.config.add(below)
		} else {
			r.config.touch(below)
		}
	case len(path) < len(config) && slices.Equal(path, config[:len(path)]):
		r.config.add(nil)
	}
	if len(rules) == 0 {
		r.check("data", path, at)
	}
}

func (r *reader) check(root string, path []string, at *ast.Location) {
	by := ""
	if through := r.through; through != nil {
		at, by = through.at, through.rule
	}
	message, try := checkRead(r.asked, root, path, by)
	if message == "" {
		return
	}
	if through := r.through; through != nil && !slices.ContainsFunc(r.refused[through.key], func(known ungranted) bool {
		return known.root == root && slices.Equal(known.path, path)
	}) {
		r.refused[through.key] = append(r.refused[through.key], ungranted{root, path})
	}
	if p := problemAt(at, CodeReads, message, try); !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
}

func isEmbedded(at *ast.Location) bool { return at != nil && IsEmbedded(at.File) }
