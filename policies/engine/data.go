package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is the merged data of a bundle, and where each value of it stands.
type document struct {
	root  map[string]any
	files []dataFile
}

type dataFile struct {
	name string
	node *yaml.Node
}

// place is where something stands in the text.
type place struct {
	file     string
	row, col int
}

// readData merges the data files of a bundle. Two files may add to the same
// object, but never say the same thing twice.
func readData(bundle Bundle) (*document, []Problem) {
	doc := &document{root: map[string]any{}}
	var problems []Problem
	for _, name := range bundle.namesOf(kindData) {
		node, value, problem := readDataFile(name, bundle.Files[name])
		if problem != nil {
			problems = append(problems, *problem)
			continue
		}
		added := dataFile{name: name, node: node}
		if value == nil {
			continue // an empty file, or only comments
		}
		object, ok := value.(map[string]any)
		if !ok {
			problems = append(problems, added.problem(nil, "want holdshort: {config: …}, not a "+kindName(value), ""))
			continue
		}
		problems = append(problems, checkTop(added, object)...)
		problems = append(problems, doc.merge(added, nil, doc.root, object)...)
		doc.files = append(doc.files, added)
	}
	return doc, problems
}

func readDataFile(name string, content []byte) (*yaml.Node, any, *Problem) {
	var node, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	err := decoder.Decode(&node)
	if errors.Is(err, io.EOF) {
		return &node, nil, nil
	}
	if err != nil {
		return nil, nil, syntaxProblem(name, content, err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, nil, syntaxProblem(name, content, err)
		}
		return nil, nil, &Problem{File: name, Row: more.Line, Code: CodeData,
			Message: "a second YAML document", Try: "one document per file"}
	}
	if problem := repeated(name, &node); problem != nil {
		return nil, nil, problem
	}
	if problem := notFinite(name, &node); problem != nil {
		return nil, nil, problem
	}
	if problem := oddNumber(name, nil, &node); problem != nil {
		return nil, nil, problem
	}
	value, problem := dataValue(name, content, &node)
	return &node, value, problem
}

// repeated finds a key that an object has twice, of which the last would win.
func repeated(name string, node *yaml.Node) *Problem {
	seen := map[string]int{}
	for i, part := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			if row, again := seen[part.Value]; again {
				return &Problem{File: name, Row: part.Line, Col: part.Column, Code: CodeData, Try: "keep one of the two",
					Message: fmt.Sprintf("the key %q is also at row %d", part.Value, row)}
			}
			seen[part.Value] = part.Line
		}
		if problem := repeated(name, part); problem != nil {
			return problem
		}
	}
	return nil
}

// notFinite finds what YAML takes for a number and JSON does not have.
func notFinite(name string, node *yaml.Node) *Problem {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!float" {
		switch strings.ToLower(strings.TrimLeft(node.Value, "+-")) {
		case ".nan", ".inf":
			return &Problem{File: name, Row: node.Line, Col: node.Column, Code: CodeData,
				Message: node.Value + " is not a number that can be counted with", Try: "a number, or quotes for text"}
		}
	}
	for _, part := range node.Content {
		if problem := notFinite(name, part); problem != nil {
			return problem
		}
	}
	return nil
}

// yamlProblem reads the row out of the parser's message, the only place for it.
func yamlProblem(name string, err error) *Problem {
	problem := Problem{File: name, Code: CodeData, Message: "not YAML: " + err.Error()}
	if m := regexp.MustCompile(`(?s)line (\d+): (.*)`).FindStringSubmatch(err.Error()); m != nil {
		problem.Row, _ = strconv.Atoi(m[1])
		problem.Message = "not YAML: " + m[2]
	}
	return &problem
}

// checkTop: a bundle owns holdshort.config and nothing else.
func checkTop(file dataFile, top map[string]any) []Problem {
	const try = "put everything under holdshort.config"
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(top)) {
		if key != "holdshort" {
			problems = append(problems, file.problem(fieldPath{key}, "unknown key "+strconv.Quote(key)+" at the top", try))
		}
	}
	inner, ok := top["holdshort"].(map[string]any)
	if !ok {
		if _, there := top["holdshort"]; there {
			problems = append(problems, file.problem(fieldPath{"holdshort"}, "want an object", try))
		}
		return problems
	}
	for _, key := range slices.Sorted(maps.Keys(inner)) {
		if key != "config" {
			problems = append(problems, file.problem(fieldPath{"holdshort", key}, "unknown key "+strconv.Quote(key)+" under holdshort", try))
		}
	}
	return problems
}

func (d *document) merge(file dataFile, path fieldPath, into, from map[string]any) []Problem {
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(from)) {
		here := path.with(key)
		old, there := into[key]
		if !there {
			into[key] = from[key]
			continue
		}
		oldObject, oldOK := old.(map[string]any)
		newObject, newOK := from[key].(map[string]any)
		if oldOK && newOK {
			problems = append(problems, d.merge(file, here, oldObject, newObject)...)
			continue
		}
		earlier := d.find(here)
		problems = append(problems, file.problem(here,
			here.String()+" is also set at "+position(earlier.file, earlier.row), "keep one of the two"))
	}
	return problems
}

// find is where the value at path stands; if there is none, where its nearest
// parent stands.
func (d *document) find(path fieldPath) (at place) {
	depth := -1
	for _, file := range d.files {
		row, col, found := locate(file.node, path)
		if row > 0 && found > depth {
			at, depth = place{file.name, row, col}, found
		}
	}
	return at
}

func (f dataFile) problem(path fieldPath, message, try string) Problem {
	row, col, _ := locate(f.node, path)
	return Problem{File: f.name, Row: row, Col: col, Code: CodeData, Message: message, Try: try}
}

// locate follows path as far as it goes; depth says how far.
func locate(node *yaml.Node, path fieldPath) (row, col, depth int) {
	if node.Kind == yaml.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	row, col = node.Line, node.Column
	for _, segment := range path {
		key, value := child(node, segment)
		if value == nil {
			break
		}
		row, col, node = key.Line, key.Column, value
		depth++
	}
	return row, col, depth
}

// child is the value under a key or index, and the node that names it.
func child(node *yaml.Node, segment string) (key, value *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == segment {
				return node.Content[i], node.Content[i+1]
			}
		}
		return merged(node, segment)
	}
	return nil, nil
}

// merged looks behind YAML's merge keys.
func merged(node *yaml.Node, segment string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Tag != "!!merge" {
			continue
		}
		sources := []*yaml.Node{node.Content[i+1]}
		if sources[0].Kind == yaml.SequenceNode {
			sources = sources[0].Content
		}
		for _, source := range sources {
			if key, value = child(source, segment); value != nil {
				return key, value
			}
		}
	}
	return nil, nil
}

func kindName(value any) string {
	switch value.(type) {
	case []any:
		return "list"
	case string:
		return "string"
	case nil:
		return "null"
	default:
		return "number or boolean"
	}
}
