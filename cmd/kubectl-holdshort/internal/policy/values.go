package policy

import (
	"fmt"
	"path"
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
		return nil, failure.New("all files side by side, and names that end in _test.rego for tests", "%s has folders, and a ConfigMap cannot", dir)
	}
	// No config: it would take the place of data.yaml, or stand beside it.
	of := map[string]any{"config": nil, "files": files}
	if shadow {
		of = map[string]any{"shadow": of}
	}
	text, err := yaml.Marshal(map[string]any{"policy": of})
	if err != nil {
		return nil, fmt.Errorf("writing values: %w", err)
	}
	return text, nil
}
