package policy

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/policies/engine"
)

// isValues: the name is that of a file of values for the chart.
func isValues(name string) bool { return strings.HasSuffix(name, ".yaml") }

// values of the chart that make this the policy, or its shadow. Keys of a
// ConfigMap know no folders, and nothing may change by that.
func values(bundle engine.Bundle, dir string, shadow bool) ([]byte, error) {
	files := map[string]string{}
	for name, text := range bundle.Files {
		if !strings.HasPrefix(name, ".") {
			files[path.Base(name)] = string(text)
		}
	}
	flat, err := engine.FromConfigMaps(map[string]map[string]string{"policy": files})
	if err != nil {
		return nil, err
	}
	if flat.Digest() != bundle.Digest() {
		return nil, failure.New("all files side by side, with names that end in _test.rego for tests and in .scenario.yaml for scenarios", "%s has folders, and a ConfigMap cannot", dir)
	}
	// No config: it would take the place of data.yaml, or stand beside it.
	of := map[string]any{"config": nil, "files": files}
	above, indent := "policy:\n", "  "
	if shadow {
		of = map[string]any{"shadow": of}
		above, indent = "policy:\n  shadow:\n", "    "
	}
	text := above + indent + "config: null\n" + indent + "files:\n" + blocks(files, indent+"  ")
	var back, want any
	plain, err := yaml.Marshal(map[string]any{"policy": of})
	if err == nil {
		err = yaml.Unmarshal(plain, &want)
	}
	if err != nil {
		return nil, fmt.Errorf("writing values: %w", err)
	}
	readable := yaml.Unmarshal([]byte(text), &back) == nil && reflect.DeepEqual(back, want)
	if readable {
		return []byte(text), nil
	}
	return plain, nil // characters that no block can have
}

// blocks are texts as people read them. The library that writes YAML puts one with
// tabs into quotes, and so most of Rego.
func blocks(files map[string]string, indent string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, header := files[name], "|"
		if strings.HasPrefix(strings.TrimLeft(text, "\n"), " ") {
			header += "2" // else its own spaces would count
		}
		switch {
		case !strings.HasSuffix(text, "\n"):
			header += "-"
		case strings.HasSuffix(text, "\n\n"):
			header += "+"
		}
		b.WriteString(indent + name + ": " + header + "\n")
		for line := range strings.Lines(text) {
			if line != "\n" {
				b.WriteString(indent + "  ")
			}
			b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return b.String()
}
