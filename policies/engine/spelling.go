package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// mostTypos is how far a name may be from one of the contract and still be
// taken for it: two letters, or two that changed places.
const mostTypos = 2

// spelling finds what a policy defines and nobody asks for. OPA is content with
// such a rule, and it does nothing: a misspelt deny denies nothing.
type spelling struct {
	reads []read
	own   []*ast.Module // the bundle's, without the defaults
}

// read is one reference to data: who makes it, and how far it is constant.
type read struct {
	from string // path of the rule
	in   string // package of the rule
	to   []string
}

func checkSpelling(compiler *ast.Compiler) (problems, warnings []Problem) {
	s := &spelling{}
	for _, module := range compiler.Modules {
		for _, rule := range module.Rules {
			s.collect(module, rule)
		}
		if !strings.HasPrefix(module.Package.Location.File, defaultsPrefix) {
			s.own = append(s.own, module)
		}
	}
	for _, module := range s.own {
		known, problem, warning := s.checkPackage(module)
		problems, warnings = append(problems, problem...), append(warnings, warning...)
		for _, rule := range module.Rules {
			if !known || len(problem) > 0 {
				break
			}
			if message, try := s.checkName(rule); message != "" {
				problems = append(problems, problemAt(rule.Location, CodeContract, message, try))
			}
		}
	}
	return problems, warnings
}

func (s *spelling) collect(module *ast.Module, rule *ast.Rule) {
	from, in := strings.Join(fullPath(rule), "."), strings.Join(packagePath(module), ".")
	ast.WalkRefs(rule, func(ref ast.Ref) bool {
		if ref[0].Equal(ast.DefaultRootDocument) {
			s.reads = append(s.reads, read{from, in, constantPath(ref)})
		}
		return false
	})
}

// fullPath is where a rule's value stands below data.
func fullPath(rule *ast.Rule) []string { return constantPath(rule.Ref().GroundPrefix()) }

func packagePath(module *ast.Module) []string { return constantPath(module.Package.Path) }

// isRead tells whether a rule outside of the ones left out reads at, below or
// around the path.
func (s *spelling) isRead(path []string, leaveOut func(read) bool) bool {
	return slices.ContainsFunc(s.reads, func(r read) bool {
		n := min(len(r.to), len(path))
		return !leaveOut(r) && slices.Equal(r.to[:n], path[:n])
	})
}

// checkPackage: what is not of the contract is a helper, for others to import.
func (s *spelling) checkPackage(module *ast.Module) (known bool, problems, warnings []Problem) {
	path := packagePath(module)
	name, near := unknownPackage(path)
	if name == "" {
		return true, nil, nil
	}
	own := strings.Join(path, ".")
	if s.isRead(path, func(r read) bool { return r.in == own }) {
		return false, nil, nil
	}
	if near != "" {
		return false, []Problem{problemAt(module.Package.Location, CodeContract,
			fmt.Sprintf("nothing asks for package %s, so its rules would do nothing", own), "package "+near)}, nil
	}
	return false, nil, []Problem{problemAt(module.Package.Location, CodeContract,
		fmt.Sprintf("nothing asks for package %s, so its rules do nothing", own), "package holdshort.policy, or a rule that reads it")}
}

// unknownPackage is the part of a package's path that the contract does not
// know, and the package that was perhaps meant.
func unknownPackage(path []string) (name, near string) {
	known := []string{"policy", libPath}
	switch {
	case len(path) < 2:
		return "", ""
	case !slices.Contains(known, path[1]):
		if near = typoOf(path[1], known); near != "" {
			near = strings.Join(slices.Concat(path[:1], []string{near}, path[2:]), ".")
		}
		return path[1], near
	case len(path) < 3 || path[1] == libPath || slices.Contains(entrypoints(), path[2]):
		return "", ""
	}
	if near = typoOf(path[2], entrypoints()); near != "" {
		near = strings.Join(slices.Concat(path[:2], []string{near}, path[3:]), ".")
	}
	return path[2], near
}

// entrypoints are the names in package holdshort.policy that are asked for.
func entrypoints() []string {
	var names []string
	for _, f := range contract() {
		if !slices.Contains(names, f.group) {
			names = append(names, f.group)
		}
	}
	return names
}

// typoOf is the one of the known names that a name is nearly.
func typoOf(name string, known []string) string {
	best, bestDistance := "", mostTypos+1
	for _, candidate := range known {
		if d := editDistance(strings.ToLower(name), candidate); d < bestDistance && d < len(candidate) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// checkName: a rule that is nearly an entrypoint and that no other rule reads is
// a misspelt one. catalog and classify hold nothing but fields of the contract
// and what those read.
func (s *spelling) checkName(rule *ast.Rule) (message, try string) {
	path := fullPath(rule)
	if len(path) < 3 || path[1] != "policy" || isTwin(rule) {
		return "", ""
	}
	name := strings.Join(path[2:], ".")
	if _, ok := fieldAt(name); ok {
		return "", ""
	}
	own := strings.Join(path, ".")
	if s.isRead(path, func(r read) bool { return r.from == own }) {
		return "", ""
	}
	message = fmt.Sprintf("nothing asks for %s, so it would do nothing", name)
	if !slices.Contains(entrypoints(), path[2]) {
		near := typoOf(path[2], entrypoints())
		if near == "" {
			return "", ""
		}
		return message, strings.Join(append([]string{near}, path[3:]...), ".")
	}
	if len(path) < 4 {
		return "", "" // the group as a whole: its type is checked
	}
	var known []string
	for _, f := range fieldsOf(path[2]) {
		known = append(known, f.name)
	}
	if near := typoOf(path[3], known); near != "" {
		return message, path[2] + "." + near
	}
	return message, "one of " + path[2] + "." + strings.Join(known, ", "+path[2]+".")
}

// checkCustom warns of references to custom facts that the data does not have:
// they are undefined, and so is what depends on them.
func checkCustom(compiler *ast.Compiler, config map[string]any) []Problem {
	prefix := []string{"holdshort", "config", "custom"}
	var warnings []Problem
	for _, module := range compiler.Modules {
		ast.WalkRefs(module, func(ref ast.Ref) bool {
			path := constantPath(ref)
			if !ref[0].Equal(ast.DefaultRootDocument) || len(path) <= len(prefix) || !slices.Equal(path[:len(prefix)], prefix) {
				return false
			}
			if missing, near := missingIn(config, path[2:]); missing != "" {
				try := missing + " in data.yaml"
				if near != "" {
					try = near + ", which the data has"
				}
				warnings = append(warnings, problemAt(ref[0].Location, CodeReads,
					"holdshort.config has no "+missing+", so what reads it is undefined", try))
			}
			return false
		})
	}
	sortProblems(warnings)
	return slices.Compact(warnings)
}

// missingIn is the beginning of the path that leads nowhere, and the one that was
// perhaps meant.
func missingIn(value map[string]any, path []string) (missing, near string) {
	for i, name := range path {
		next, there := value[name]
		if !there {
			parent := fieldPath(path[:i])
			if guess := nearest(name, slices.Sorted(maps.Keys(value))); guess != "" {
				near = parent.with(guess).String()
			}
			return parent.with(name).String(), near
		}
		deeper, isObject := next.(map[string]any)
		if !isObject {
			return "", ""
		}
		value = deeper
	}
	return "", ""
}
