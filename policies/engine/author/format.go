package author

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"

	"github.com/holdshort/holdshort/policies/engine"
)

// Format is the text of a module as `opa fmt` writes it. A text that is no Rego
// is an *engine.BundleError.
func Format(file string, text []byte) ([]byte, error) {
	formatted, err := format.SourceWithOpts(file, text, format.Opts{
		RegoVersion: ast.RegoV1, ParserOptions: &ast.ParserOptions{RegoVersion: ast.RegoV1},
	})
	if err == nil {
		return formatted, nil
	}
	parts := &engine.Parts{Texts: map[string][]byte{file: text}}
	return nil, parts.Refuse(engine.FromOPA(file, err))
}
