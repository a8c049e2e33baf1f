package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// defaultsPrefix begins the file names of embedded modules. No file of a bundle
// has a name that begins with a slash, so none is taken for an embedded one.
const defaultsPrefix = "/holdshort/"

// libPath is the package of the embedded library.
const libPath = "lib"

// modules are the parsed modules of a bundle, the defaults added.
type modules struct {
	byFile map[string]*ast.Module
	texts  map[string][]byte
	types  *ast.Annotations // of holdshort.config, where a bundle does not annotate it itself
}

func parseModule(name string, text []byte, caps *ast.Capabilities) (*ast.Module, []Problem) {
	module, err := ast.ParseModuleWithOpts(name, string(text), ast.ParserOptions{
		RegoVersion: ast.RegoV1, ProcessAnnotation: true, Capabilities: caps})
	if err != nil {
		return nil, fromOPA(name, err)
	}
	if module == nil {
		return nil, []Problem{{File: name, Code: ast.ParseErr, Message: "the file has no package",
			Try: "package holdshort.policy"}}
	}
	return module, nil
}

// fromOPA keeps file, row and text of OPA's errors.
func fromOPA(file string, err error) []Problem {
	var errs ast.Errors
	var single *ast.Error
	switch {
	case errors.As(err, &errs):
	case errors.As(err, &single):
		errs = ast.Errors{single}
	default:
		return []Problem{{File: file, Code: ast.CompileErr, Message: err.Error()}}
	}
	problems := make([]Problem, 0, len(errs))
	for _, e := range errs {
		problems = append(problems, ofOPA(file, e))
	}
	return distinct(problems)
}

func ofOPA(file string, e *ast.Error) Problem {
	problem := Problem{File: file, Row: 1, Code: e.Code, Message: e.Code + ": " + e.Message, Try: opaAdvice(e.Message)}
	if message, try := misspelt(e); message != "" {
		problem.Message, problem.Try = message, try
	} else if e.Details != nil && e.Code != ast.ParseErr { // whose details are the line, which is quoted anyway
		problem.Message += " (" + strings.Join(strings.Fields(strings.Join(e.Details.Lines(), " ")), " ") + ")"
	}
	if e.Location != nil && e.Location.Row > 0 {
		problem.File, problem.Row, problem.Col = e.Location.File, e.Location.Row, e.Location.Col
	}
	return problem
}

// opaAdvice is what to do about OPA's own errors, where that can be told.
func opaAdvice(message string) string {
	if name, found := strings.CutPrefix(message, "undefined function "); found {
		for _, imported := range []string{"lib", "policy"} {
			if strings.HasPrefix(name, imported+".") {
				return importOf(imported)
			}
		}
	}
	if name, found := strings.CutPrefix(message, "var "); found {
		if name, _, found = strings.Cut(name, " is unsafe"); found {
			if name == "lib" || name == "policy" {
				return importOf(name)
			}
			return fmt.Sprintf("%s := …, or some %s in …: nothing gives it a value", name, name)
		}
	}
	return impureAdvice(message)
}

const importPrefix = "import data.holdshort."

func importOf(name string) string { return importPrefix + name + " below the package" }

// distinct tells a missing import once per file, however often its name is used, and
// of two complaints of one place the one that says more.
func distinct(problems []Problem) []Problem {
	missing := map[string]bool{}
	var kept []Problem
	for _, p := range problems {
		again := missing[p.File+p.Try]
		missing[p.File+p.Try] = strings.HasPrefix(p.Try, importPrefix)
		if again || slices.ContainsFunc(problems, func(other Problem) bool {
			return other.File == p.File && other.Row == p.Row && other.Message != p.Message &&
				p.Code == ast.ParseErr && strings.HasPrefix(other.Message, p.Message)
		}) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// readModules parses a bundle's modules and adds the library and each default
// whose fields the bundle does not define itself.
func readModules(bundle Bundle, caps *ast.Capabilities) (*modules, []Problem) {
	mods := &modules{byFile: map[string]*ast.Module{}, texts: map[string][]byte{}}
	var problems []Problem
	for _, name := range bundle.namesOf(kindModule) {
		module, found := parseModule(name, bundle.Files[name], caps)
		if len(found) == 0 {
			found = checkModule(module)
		}
		if len(found) > 0 {
			problems = append(problems, found...)
			continue
		}
		mods.byFile[name], mods.texts[name] = module, bundle.Files[name]
	}
	if len(problems) > 0 {
		return mods, problems
	}
	if err := mods.addDefaults(caps); err != nil {
		return mods, []Problem{{Code: CodeInternal, Message: err.Error()}}
	}
	return mods, nil
}

func (m *modules) addDefaults(caps *ast.Capabilities) error {
	defined := map[string]bool{}
	for _, module := range m.byFile {
		for _, name := range definedFields(module) {
			defined[name] = true
		}
	}
	files := policies.Defaults()
	names, err := fs.Glob(files, "default/*.rego")
	if err != nil {
		return fmt.Errorf("listing the default rules: %w", err)
	}
	for _, name := range names {
		if kindOf(name) != kindModule {
			continue
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("reading the default rules: %w", err)
		}
		module, problems := parseModule(defaultsPrefix+name, text, caps)
		if len(problems) > 0 {
			return fmt.Errorf("parsing the default rules: %s", problems[0])
		}
		if slices.ContainsFunc(definedFields(module), func(f string) bool { return defined[f] }) {
			continue
		}
		m.byFile[defaultsPrefix+name], m.texts[defaultsPrefix+name] = module, text
	}
	return m.addTypes(caps)
}

// definedFields are the fields of the contract with one value that a module
// defines, and the library's package. Sets are not among them: they merge.
func definedFields(module *ast.Module) []string {
	var defined []string
	for _, rule := range module.Rules {
		path := rulePath(rule)
		if strings.HasPrefix(path, libPath+".") {
			defined = append(defined, libPath)
		}
		if f, ok := fieldAt(path); ok && f.shape != shapeReasons {
			defined = append(defined, f.path())
		}
	}
	return defined
}

// rulePath is where a rule's value stands below data.holdshort, policy left
// out: classify.queue, deny, lib.reason.
func rulePath(rule *ast.Rule) string {
	var parts []string
	for _, term := range rule.Ref().GroundPrefix()[1:] {
		parts = append(parts, keyText(term))
	}
	path := strings.TrimPrefix(strings.Join(parts, "."), "holdshort.")
	return strings.TrimPrefix(path, "policy.")
}

// fieldAt is the field of the contract that path is, or is a part of.
func fieldAt(path string) (field, bool) {
	if group, _, _ := strings.Cut(path, "."); !isGroup(group) {
		return field{}, false // a helper, as most rules are
	}
	for _, f := range contract() {
		if f.has(path) {
			return f, true
		}
	}
	return field{}, false
}

// checkModule: a module keeps to its place and to the contract's forms.
func checkModule(module *ast.Module) []Problem {
	if pkg := module.Package.Path; len(pkg) < 2 || keyText(pkg[1]) != "holdshort" {
		return []Problem{problemAt(module.Package.Location, CodeContract,
			fmt.Sprintf("%s is outside of package holdshort", module.Package), "package holdshort.policy")}
	}
	var problems []Problem
	for _, rule := range module.Rules {
		if message, try := checkRule(rule); message != "" {
			problems = append(problems, problemAt(rule.Location, CodeContract, message, try))
		}
	}
	return problems
}

func checkRule(rule *ast.Rule) (message, try string) {
	path := rulePath(rule)
	if path == "config" || strings.HasPrefix(path, "config.") {
		return "holdshort.config is data, a rule cannot define it", "data.yaml, or a rule in holdshort.policy"
	}
	f, ok := fieldAt(path)
	if !ok {
		return "", ""
	}
	if len(rule.Head.Args) > 0 {
		return f.path() + " is a function, the contract wants " + f.shape.String(), "leave out the arguments"
	}
	isSet := rule.Head.RuleKind() == ast.MultiValue && path == f.path()
	if f.shape == shapeReasons && !isSet {
		return f.path() + " is not a set of reasons", f.path() + " contains lib.reason(\"team.example/Code\", \"why\") if …"
	}
	if f.shape != shapeReasons && rule.Head.RuleKind() == ast.MultiValue {
		return f.path() + " is a set, the contract wants " + f.shape.String(), rule.Head.Name.String() + " := … if …"
	}
	return "", ""
}

func problemAt(at *ast.Location, code, message, try string) Problem {
	problem := Problem{Code: code, Message: message, Try: try}
	if at != nil {
		problem.File, problem.Row, problem.Col = at.File, at.Row, at.Col
	}
	return problem
}
