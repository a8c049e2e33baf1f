package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Roots are the paths below which somebody may write, such as
// holdshort.config.queues.team-a. None means nothing at all.
type Roots []fieldPath

// ParseRoots reads paths as they are written in messages: keys joined by dots,
// and ["nvidia.com/gpu"] for a key that has odd characters.
func ParseRoots(texts []string) (Roots, error) {
	roots := make(Roots, 0, len(texts))
	for _, text := range texts {
		root, err := parsePath(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a path: %w. Try: holdshort.config.queues.team-a", text, err)
		}
		if root[0] != "holdshort" {
			return nil, fmt.Errorf("%q is outside of holdshort. Try: holdshort.config.queues.team-a", text)
		}
		roots = append(roots, root)
	}
	return roots, nil
}

func parsePath(text string) (fieldPath, error) {
	var path fieldPath
	rest := text
	for rest != "" {
		if quoted, ok := strings.CutPrefix(rest, "["); ok {
			literal, err := strconv.QuotedPrefix(quoted)
			if err != nil {
				return nil, errors.New("want a quoted key after [")
			}
			key, err := strconv.Unquote(literal)
			if err != nil {
				return nil, err
			}
			if rest, ok = strings.CutPrefix(quoted[len(literal):], "]"); !ok {
				return nil, errors.New("want ] after the quoted key")
			}
			path = path.with(key)
			continue
		}
		if len(path) > 0 {
			var ok bool
			if rest, ok = strings.CutPrefix(rest, "."); !ok {
				return nil, errors.New("want a dot between keys")
			}
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if !isPlain(rest[:end]) {
			return nil, fmt.Errorf("%q is no plain key", rest[:end])
		}
		path, rest = path.with(rest[:end]), rest[end:]
	}
	if len(path) == 0 {
		return nil, errors.New("it is empty")
	}
	return path, nil
}

// String lists the paths.
func (r Roots) String() string {
	texts := make([]string, len(r))
	for i, root := range r {
		texts[i] = root.String()
	}
	return strings.Join(texts, ", ")
}

// within: path is a root or below one.
func (r Roots) within(path fieldPath) bool {
	return slices.ContainsFunc(r, func(root fieldPath) bool {
		return len(path) >= len(root) && slices.Equal(path[:len(root)], root)
	})
}

// above: a root lies below path.
func (r Roots) above(path fieldPath) bool {
	return slices.ContainsFunc(r, func(root fieldPath) bool {
		return len(path) < len(root) && slices.Equal(root[:len(path)], path)
	})
}

// outside finds what the files below a folder (all if it is empty) write outside
// of roots; owner names in a clause who may write there instead. Files that cannot
// be parsed are left to whoever compiles them.
func outside(b Bundle, folder string, roots Roots, whose string, owner func(fieldPath) string) []Problem {
	var problems []Problem
	refuse := func(at Problem, path fieldPath) {
		at.Code, at.Message = CodeRoots, path.String()+" is outside of "+whose+owner(path)
		at.Try = "one of " + roots.String()
		if len(roots) == 0 {
			at.Try = "have roots granted to it"
		}
		problems = append(problems, at)
	}
	for _, name := range b.names() {
		if !strings.HasPrefix(name, folder) {
			continue
		}
		switch kindOf(name) {
		case kindData:
			dataOutside(name, b.Files[name], roots, refuse)
		case kindModule, kindTest:
			if strings.HasSuffix(name, ".rego") {
				rulesOutside(name, b.Files[name], roots, refuse)
			}
		case kindOther, kindScenario: // they write nothing
		}
	}
	return problems
}

func dataOutside(name string, content []byte, roots Roots, refuse func(Problem, fieldPath)) {
	node, value, problem := readDataFile(name, content)
	object, ok := value.(map[string]any)
	if problem != nil || !ok {
		return
	}
	file := dataFile{name: name, node: node}
	var walk func(path fieldPath, object map[string]any)
	walk = func(path fieldPath, object map[string]any) {
		for _, key := range slices.Sorted(maps.Keys(object)) {
			here := path.with(key)
			inner, isObject := object[key].(map[string]any)
			switch {
			case roots.within(here):
			case isObject && roots.above(here):
				walk(here, inner)
			default:
				refuse(file.problem(here, "", ""), here)
			}
		}
	}
	walk(nil, object)
}

func rulesOutside(name string, text []byte, roots Roots, refuse func(Problem, fieldPath)) {
	module, problems := parseModule(name, text, capabilities())
	if len(problems) > 0 {
		return
	}
	for _, rule := range module.Rules {
		if path := groundPath(rule); !roots.within(path) {
			refuse(problemAt(rule.Location, "", "", ""), path)
		}
	}
}

// groundPath is where a rule's value stands below data, as far as its name is
// fixed.
func groundPath(rule *ast.Rule) fieldPath {
	var path fieldPath
	for _, term := range rule.Ref().GroundPrefix()[1:] {
		path = path.with(keyText(term))
	}
	return path
}
