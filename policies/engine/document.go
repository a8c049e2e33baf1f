package engine

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// CodeScenario is the code of a problem with a scenario.
const CodeScenario = "scenario_error"

// Scenarios are the names of a bundle's scenarios, sorted.
func (b Bundle) Scenarios() []string { return b.namesOf(kindScenario) }

// Document is a YAML file that is neither data nor rules, and where things stand in it.
type Document struct{ file dataFile }

// ReadDocument reads a file of a bundle into a pointer to a struct, as strictly as
// data is read: a key that is not known or comes twice, one that is missing and a
// value of the wrong type are problems.
func ReadDocument(name string, content []byte, into any) (*Document, []Problem) {
	node, value, problem := readDataFile(name, content)
	if problem != nil {
		problem.Code = CodeScenario
		return nil, []Problem{*problem}
	}
	d := &Document{dataFile{name: name, node: node}}
	if value == nil {
		return nil, []Problem{{File: name, Code: CodeScenario, Message: "the file is empty", Try: "docs/test-policy.md, which shows one"}}
	}
	tree, err := ast.InterfaceToValue(value)
	if err != nil {
		return nil, []Problem{{File: name, Code: CodeInternal, Message: fmt.Sprintf("storing %s: %v", name, err)}}
	}
	var problems []Problem
	for _, p := range decode(nil, tree, into) {
		problems = append(problems, d.Problem(p.path, p.message, p.try))
	}
	return d, problems
}

// Problem is one at a path, such as jobs, 0, runs.
func (d *Document) Problem(path []string, message, try string) Problem {
	p := d.file.problem(path, message, try)
	p.Code = CodeScenario
	return p
}

// Row is where a path stands, or as much of it as there is.
func (d *Document) Row(path ...string) int {
	row, _, _ := locate(d.file.node, path)
	return row
}

// amounts reads resource → amount.
func (d *decoder) amounts(v ast.Value) (all policies.Amounts) {
	d.entries(v, func(size int) {
		all = make(policies.Amounts, size)
	}, func(name string, value ast.Value) {
		d.path = append(d.path, name)
		all[name] = d.amount(name, value)
		d.path = d.path[:len(d.path)-1]
	})
	return all
}

// Nearest is the candidate that a misspelt word most likely means, or "".
func Nearest(word string, candidates []string) string { return nearest(word, candidates) }
