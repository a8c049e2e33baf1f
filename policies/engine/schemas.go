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

// typesModule says what type holdshort.config has, in every package below holdshort.
// A bundle needs no annotation for that; the type of input needs no module at all.
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

// narrowTypes says it only of the documents whose rules may read the configuration: for
// each rule that has an annotation, the compiler works out the type of all data anew.
func (m *modules) narrowTypes() {
	module := m.byFile[typesFile]
	if module == nil {
		return
	}
	m.types, module.Annotations = module.Annotations[0], nil
	for _, module := range m.byFile {
		for _, rule := range module.Rules {
			m.addType(rule)
		}
	}
}

// addType annotates the document of a rule, of which there is one annotation at most.
func (m *modules) addType(rule *ast.Rule) {
	if m.types == nil || !mayReadConfig(rule) {
		return
	}
	path := rule.Ref().GroundPrefix()
	for _, module := range m.byFile {
		for _, known := range module.Annotations {
			if known.Scope != "document" || !known.GetTargetPath().Equal(path) {
				continue
			}
			if !slices.ContainsFunc(known.Schemas, func(s *ast.SchemaAnnotation) bool { return s.Path.Equal(configRef()) }) {
				known.Schemas = append(slices.Clone(known.Schemas), m.types.Schemas...)
			}
			return
		}
	}
	own := m.types.Copy(rule)
	own.Scope = "document"
	rule.Module.Annotations = append(rule.Module.Annotations, own)
}

// mayReadConfig says whether a rule names it, or its module imports it, a part of it or
// what has it, so that the rule need not.
func mayReadConfig(rule *ast.Rule) bool {
	for _, imported := range rule.Module.Imports {
		path, is := imported.Path.Value.(ast.Ref)
		if is && (configRef().HasPrefix(path) || path.HasPrefix(configRef())) {
			return true
		}
	}
	found := false
	ast.WalkTerms(rule, func(term *ast.Term) bool {
		switch value := term.Value.(type) {
		case ast.Var:
			found = found || value == "config"
		case ast.String:
			found = found || value == "config"
		}
		return found
	})
	return found
}

func configRef() ast.Ref {
	return ast.Ref{ast.DefaultRootDocument, ast.InternedTerm("holdshort"), ast.InternedTerm("config")}
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
