package engine

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// oddNumber finds a number that is written as programs do: 010 is 8 there, and
// who wrote a quota of 010 did not mean that. Below custom, numbers are the
// author's own.
func oddNumber(name string, path fieldPath, node *yaml.Node) *Problem {
	if slices.Equal(path, fieldPath{"holdshort", "config", "custom"}) {
		return nil
	}
	if node.Kind == yaml.ScalarNode && isOddNumber(node) {
		problem := Problem{File: name, Row: node.Line, Col: node.Column, Code: CodeData, Try: "0",
			Message: fmt.Sprintf("%s is zero with a sign", shorten(node.Value, 60))}
		var value any
		if err := node.Decode(&value); err == nil && strings.Trim(fmt.Sprint(value), "-0.") != "" {
			problem.Message = fmt.Sprintf("%s is not written as a plain decimal number, and is taken for %v", shorten(node.Value, 60), value)
			problem.Try = fmt.Sprintf("%v if that is meant, or quotes for text", value)
		}
		return &problem
	}
	for i, part := range node.Content {
		below := path
		if node.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue // a key
			}
			below = path.with(node.Content[i-1].Value)
		}
		if problem := oddNumber(name, below, part); problem != nil {
			return problem
		}
	}
	return nil
}

func isOddNumber(node *yaml.Node) bool {
	if node.Style != 0 || node.Tag != "!!int" && node.Tag != "!!float" {
		return false
	}
	digits := strings.TrimLeft(node.Value, "+-")
	signed := strings.HasPrefix(node.Value, "-")
	return strings.ContainsAny(digits, "_xXoObB") ||
		len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' ||
		signed && strings.Trim(digits, "0.") == ""
}
