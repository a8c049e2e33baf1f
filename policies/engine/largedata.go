package engine

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/util"
	"go.yaml.in/yaml/v3"
)

const (
	// nodesMax is how many values and keys a file of data may have.
	nodesMax = 200_000
	// largeObject has more keys than the parser's own conversion can be given: it
	// compares each with each.
	largeObject = 1000
)

// extent is how much is in a document.
type extent struct{ nodes, keys int } // keys of the largest object

func measure(node *yaml.Node) (e extent) {
	e.nodes = 1
	if node.Kind == yaml.MappingNode {
		e.keys = len(node.Content) / 2
	}
	for _, part := range node.Content {
		below := measure(part)
		e.nodes, e.keys = e.nodes+below.nodes, max(e.keys, below.keys)
	}
	return e
}

// dataValue is the value of a document without repeated keys.
func dataValue(name string, content []byte, node *yaml.Node) (value any, problem *Problem) {
	e := measure(node)
	if e.nodes > nodesMax {
		return nil, &Problem{File: name, Code: CodeData, Message: fmt.Sprintf("more than %d keys and values", nodesMax), Try: "less data"}
	}
	if e.keys > largeObject && !json.Valid(content) {
		return largeValue(name, node)
	}
	// The same conversion as in OPA's own tools, so that they see the same data.
	if err := util.Unmarshal(content, &value); err != nil {
		return nil, yamlProblem(name, err)
	}
	return value, nil
}

// largeValue comes to the same, for files with a large object. There are no
// aliases and merge keys in them: written out, they would be larger still.
func largeValue(name string, node *yaml.Node) (any, *Problem) {
	switch node.Kind {
	case yaml.DocumentNode:
		return largeValue(name, node.Content[0])
	case yaml.MappingNode:
		object := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, problem := largeKey(name, node.Content[i])
			if problem != nil {
				return nil, problem
			}
			if object[key], problem = largeValue(name, node.Content[i+1]); problem != nil {
				return nil, problem
			}
		}
		return object, nil
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, element := range node.Content {
			var problem *Problem
			if list[i], problem = largeValue(name, element); problem != nil {
				return nil, problem
			}
		}
		return list, nil
	case yaml.ScalarNode:
		return scalar(name, node)
	default:
		return nil, notInLarge(name, node, "an alias")
	}
}

// largeKey takes a key as it is written: what is a number or a boolean without
// quotes has more than one spelling, which nobody needs there.
func largeKey(name string, key *yaml.Node) (string, *Problem) {
	switch {
	case key.Kind == yaml.ScalarNode && key.Tag == "!!str":
		return key.Value, nil
	case key.Kind == yaml.ScalarNode && key.Tag == "!!timestamp" && key.Style == 0:
		return key.Value, nil
	case key.Tag == "!!merge":
		return "", notInLarge(name, key, "a merge key")
	default:
		return "", notInLarge(name, key, "a key that is no string")
	}
}

func notInLarge(name string, node *yaml.Node, what string) *Problem {
	return &Problem{File: name, Row: node.Line, Col: node.Column, Code: CodeData, Try: "a string in quotes as the key, or the large object in a file of its own",
		Message: fmt.Sprintf("%s in a file that has an object with more than %d keys", what, largeObject)}
}

func scalar(name string, node *yaml.Node) (value any, problem *Problem) {
	if node.Tag == "!!timestamp" && node.Style == 0 {
		return node.Value, nil
	}
	if err := node.Decode(&value); err != nil {
		return nil, yamlProblem(name, err)
	}
	switch v := value.(type) {
	case nil, bool:
		return value, nil
	case string:
		if utf8.ValidString(v) {
			return value, nil
		}
	}
	text, err := json.Marshal(value)
	if err == nil {
		err = util.UnmarshalJSON(text, &value)
	}
	if err != nil {
		return nil, yamlProblem(name, err)
	}
	return value, nil
}
