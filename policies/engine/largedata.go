package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	if (e.keys > largeObject || isPlainData(node, 0) && !bytes.HasPrefix(content, byteOrderMark())) && !json.Valid(content) {
		return largeValue(name, node)
	}
	// The same conversion as in OPA's own tools, so that they see the same data.
	if err := util.Unmarshal(content, &value); err != nil {
		return nil, yamlProblem(name, err)
	}
	return value, nil
}

// mostDeep is how deep a document may be that is not left to OPA's conversion.
const mostDeep = 100

// byteOrderMark may begin a file; OPA takes what follows it for JSON, if it is that.
func byteOrderMark() []byte { return []byte{0xef, 0xbb, 0xbf} }

// isPlainData is what nearly all data is: objects whose keys are strings, lists,
// texts, whole numbers and booleans, as they are usually written. Their values are
// in the nodes already, and need not be parsed a second time.
func isPlainData(node *yaml.Node, depth int) bool {
	if depth > mostDeep || node.Style&yaml.TaggedStyle != 0 {
		return false
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(node.Content); i += 2 {
			if key := node.Content[i]; key.Kind != yaml.ScalarNode || key.Tag != "!!str" || !isPlainData(key, depth+1) {
				return false
			}
		}
	case yaml.ScalarNode:
		return isPlainScalar(node)
	case yaml.DocumentNode, yaml.SequenceNode:
	default:
		return false
	}
	return !slices.ContainsFunc(node.Content, func(part *yaml.Node) bool { return !isPlainData(part, depth+1) })
}

func isPlainScalar(node *yaml.Node) bool {
	switch node.Tag {
	case "!!str":
		return utf8.ValidString(node.Value)
	case "!!int":
		return isShortInteger(node.Value)
	}
	return node.Tag == "!!bool" || node.Tag == "!!null"
}

// isShortInteger is a decimal that has one spelling only, and fits.
func isShortInteger(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return text == "0" || digits != "" && len(digits) < 19 && digits[0] != '0' &&
		!strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
}

// largeValue comes to the same, for files with a large object and for plain ones.
// There are no aliases and merge keys in them: written out, large ones would be
// larger still.
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
	switch {
	case node.Tag == "!!timestamp" && node.Style == 0, node.Tag == "!!str" && utf8.ValidString(node.Value):
		return node.Value, nil
	case node.Tag == "!!int" && node.Style == 0 && isShortInteger(node.Value):
		return json.Number(node.Value), nil
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
