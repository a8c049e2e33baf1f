package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
)

// Formats that -o takes.
const (
	FormatText = ""
	FormatWide = "wide"
	FormatJSON = "json"
	FormatYAML = "yaml"
	FormatName = "name"
	// FormatJSONPath is followed by its template.
	FormatJSONPath = "jsonpath="
)

// CheckFormat refuses what -o does not know.
func CheckFormat(format string) error {
	switch format {
	case FormatText, FormatWide, FormatJSON, FormatYAML, FormatName:
		return nil
	}
	if strings.HasPrefix(format, FormatJSONPath) {
		return nil
	}
	return failure.New("-o wide, json, yaml, name or jsonpath=TEMPLATE", "-o %s is not a format", format)
}

// Document prints a value for programs; false if the format is one for people.
func Document(out io.Writer, format string, value any) (bool, error) {
	switch {
	case format == FormatJSON:
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "    ")
		encoder.SetEscapeHTML(false)
		return true, encoder.Encode(value)
	case format == FormatYAML:
		text, err := yaml.Marshal(value)
		if err != nil {
			return true, fmt.Errorf("writing YAML: %w", err)
		}
		_, err = out.Write(text)
		return true, err
	case strings.HasPrefix(format, FormatJSONPath):
		return true, path(out, strings.TrimPrefix(format, FormatJSONPath), value)
	}
	return false, nil
}

// path evaluates a JSONPath template on what -o json would print, so that both
// use the same names.
func path(out io.Writer, template string, value any) error {
	parser := jsonpath.New("output").AllowMissingKeys(true)
	if err := parser.Parse(template); err != nil {
		return failure.New("-o jsonpath='{.items[*].name}'", "-o jsonpath: %w", err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	var plain any
	if err := utiljson.Unmarshal(text, &plain); err != nil { // integers stay integers
		return fmt.Errorf("writing JSON: %w", err)
	}
	if err := parser.Execute(out, plain); err != nil {
		return failure.New("-o json, to see the names", "-o jsonpath: %w", err)
	}
	return nil
}
