package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// configSchema names the schema of holdshort.config.
const configSchema = "schema.config"

// typesModule gives every package below holdshort the type of its data. A bundle
// needs no annotation for that; the type of input needs no module at all.
const typesModule = `# METADATA
# scope: subpackages
# schemas:
#   - data.holdshort.config: ` + configSchema + `
package holdshort
`

const typesFile = defaultsPrefix + "types.rego"

// schemaSet is what the compiler knows of input and data, so that a misspelt name
// and a string where a number belongs are found when the policy is loaded.
func schemaSet() (*ast.SchemaSet, error) {
	set := ast.NewSchemaSet()
	for name, ref := range map[string]ast.Ref{"input": ast.SchemaRootRef, "config": ast.MustParseRef(configSchema)} {
		var schema any
		if err := json.Unmarshal(policies.Schema(name), &schema); err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", name, err)
		}
		set.Put(ref, schema)
	}
	return set, nil
}

// addTypes leaves a bundle alone that brings such a module itself.
func (m *modules) addTypes(caps *ast.Capabilities) error {
	for _, module := range m.byFile {
		for _, annotation := range module.Annotations {
			if annotation.Scope == "subpackages" && len(module.Package.Path) == 2 {
				return nil
			}
		}
	}
	module, problems := parseModule(typesFile, []byte(typesModule), caps)
	if len(problems) > 0 {
		return fmt.Errorf("parsing the types of data: %s", problems[0])
	}
	m.byFile[typesFile], m.texts[typesFile] = module, []byte(typesModule)
	return nil
}

// misspelt turns the compiler's complaint of a name that a document does not have
// into ours, which names the nearest one that it has.
func misspelt(e *ast.Error) (message, try string) {
	details, ok := e.Details.(*ast.RefErrInvalidDetail)
	if !ok || len(details.OneOf) == 0 || details.Pos >= len(details.Ref) {
		return "", ""
	}
	name, ok := details.Ref[details.Pos].Value.(ast.String)
	if !ok {
		return "", ""
	}
	var known []string
	for _, value := range details.OneOf {
		if text, ok := value.(ast.String); ok {
			known = append(known, string(text))
		}
	}
	slices.Sort(known)
	parent := details.Ref[:details.Pos].String()
	if strings.HasPrefix(parent, "__local") {
		parent = "…" // a variable of the author's, whose name the compiler has replaced
	}
	return noSuch(parent, string(name), known)
}
