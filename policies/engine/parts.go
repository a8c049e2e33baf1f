package engine

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Parts are a bundle taken apart, for the tools of those who write one: all
// that Compile compiles, and the tests, which it leaves out.
type Parts struct {
	Rules    map[string]*ast.Module // the bundle's own, by file
	Embedded map[string]*ast.Module // the library, and the defaults that the bundle does not replace
	Tests    map[string]*ast.Module
	Data     map[string]any
	// Texts are the files of all of them, for quoting.
	Texts map[string][]byte

	doc *document
}

// TakeApart parses a bundle. What is wrong with it is a *BundleError, in the
// same words as Compile's.
func TakeApart(b Bundle) (*Parts, error) {
	doc, problems := readData(b)
	caps := Capabilities()
	mods, wrong := readModules(b, caps)
	problems = append(problems, wrong...)
	parts := &Parts{
		Rules: map[string]*ast.Module{}, Embedded: map[string]*ast.Module{}, Tests: map[string]*ast.Module{},
		Data: doc.root, Texts: map[string][]byte{}, doc: doc,
	}
	for name, text := range b.Files {
		parts.Texts[name] = text
	}
	for name, text := range mods.texts {
		parts.Texts[name] = text
	}
	for _, name := range b.namesOf(kindTest) {
		if !strings.HasSuffix(name, ".rego") {
			continue // data of a test's own, for other tools
		}
		module, wrong := parseModule(name, b.Files[name], caps)
		problems = append(problems, wrong...)
		if module != nil {
			parts.Tests[name] = module
		}
	}
	if len(problems) > 0 {
		return nil, parts.Refuse(problems)
	}
	for name, module := range mods.byFile {
		if IsEmbedded(name) {
			parts.Embedded[name] = module
		} else {
			parts.Rules[name] = module
		}
	}
	return parts, nil
}

// All are the modules of a test run, by file.
func (p *Parts) All() map[string]*ast.Module {
	all := map[string]*ast.Module{}
	for _, some := range []map[string]*ast.Module{p.Rules, p.Embedded, p.Tests} {
		for name, module := range some {
			all[name] = module
		}
	}
	return all
}

// Refuse makes an error of problems: sorted, with the source lines.
func (p *Parts) Refuse(problems []Problem) *BundleError {
	quoteLines(problems, p.Texts)
	return newBundleError(problems)
}

// InData is a problem with what the data says at a path below holdshort.config.
func (p *Parts) InData(code, message, try string, path ...string) Problem {
	at := p.doc.find(append(fieldPath{"holdshort", "config"}, path...))
	return Problem{File: at.file, Row: at.row, Col: at.col, Code: code, Try: try,
		Message: fmt.Sprintf("%s: %s", fieldPath(path), message)}
}

// IsEmbedded tells files of the library and the defaults from those of a bundle.
func IsEmbedded(file string) bool { return strings.HasPrefix(file, defaultsPrefix) }

// Capabilities are the built-ins that a policy, and a test of one, may call.
func Capabilities() *ast.Capabilities { return capabilities() }

// FromOPA keeps file, row and text of OPA's errors.
func FromOPA(file string, err error) []Problem { return fromOPA(file, err) }

// FieldOf is the field of the contract that a rule defines, such as deny or
// classify.queue; empty for a helper.
func FieldOf(rule *ast.Rule) string {
	f, ok := fieldAt(rulePath(rule))
	if !ok {
		return ""
	}
	return f.path()
}

// Quote fills in the source lines of problems.
func (p *Parts) Quote(problems []Problem) { quoteLines(problems, p.Texts) }
