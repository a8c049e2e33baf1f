package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"

	"github.com/holdshort/holdshort/policies"
)

// Options are the limits of the engine; zeros mean the defaults.
type Options struct {
	// Deadline of one evaluation; 250 ms.
	Deadline time.Duration
	// CatalogDeadline of the one evaluation of the catalog at activation; 5 s.
	CatalogDeadline time.Duration
	// BuildDeadline of compiling a bundle that is to come into force; 30 s.
	BuildDeadline time.Duration
	// MaxBytes of a bundle; MaxBytes.
	MaxBytes int
	// Verification of signatures; none by default.
	Verification Verification
	// Gates are asked before a revision replaces another one, in order.
	Gates []Gate
	// Observe is told of every decision; nil costs nothing. It is called where
	// the decision is made, by many goroutines at once, and should be quick.
	Observe func(Decision)
	// Now is for what the catalog reads at activation, and for records; the
	// clock of the machine.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Deadline <= 0 {
		o.Deadline = 250 * time.Millisecond
	}
	if o.CatalogDeadline <= 0 {
		o.CatalogDeadline = 5 * time.Second
	}
	if o.BuildDeadline <= 0 {
		o.BuildDeadline = 30 * time.Second
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = MaxBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// build is a revision in the making.
type build struct {
	options  Options
	bundle   Bundle
	doc      *document
	data     ast.Object // of the document
	config   policies.Config
	mods     *modules
	compiler *ast.Compiler
	store    storage.Store
	revision *Revision
	warnings []Problem
}

// Compile makes a revision of a bundle, or says everything that is wrong with
// it as a *BundleError. It has no effect on any other revision.
func Compile(ctx context.Context, bundle Bundle, options Options) (revision *Revision, err error) {
	defer func() {
		if r := recover(); r != nil {
			revision, err = nil, newBundleError([]Problem{{Code: CodeInternal, Message: fmt.Sprintf("panic: %v", r)}})
		}
	}()
	b := &build{options: options.withDefaults(), bundle: bundle.clone()}
	for _, step := range []func(context.Context) []Problem{b.verify, b.read, b.compile, b.prepare, b.evaluate} {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("compiling the policy: %w", err)
		}
		if problems := step(ctx); len(problems) > 0 {
			quoteLines(problems, b.texts())
			return nil, newBundleError(problems)
		}
	}
	quoteLines(b.warnings, b.texts())
	sortProblems(b.warnings)
	b.revision.warnings = b.warnings
	return b.revision, nil
}

func (b *build) texts() map[string][]byte {
	texts := map[string][]byte{}
	for name, text := range b.bundle.Files {
		texts[name] = text
	}
	if b.mods != nil {
		for name, text := range b.mods.texts {
			texts[name] = text
		}
	}
	return texts
}

// verify comes first: nothing of a bundle is believed before its signature.
func (b *build) verify(context.Context) []Problem {
	problems, warnings := b.options.Verification.check(b.bundle)
	b.warnings = append(b.warnings, warnings...)
	if len(problems) > 0 {
		return problems
	}
	return checkManifest(b.bundle)
}

// read parses everything, and reports what is wrong with all of the files at once.
func (b *build) read(context.Context) []Problem {
	problems, warnings := b.bundle.checkSize(b.options.MaxBytes)
	if len(problems) > 0 {
		return problems
	}
	b.warnings = append(b.warnings, warnings...)
	var dataProblems []Problem
	beside(func() { b.mods, problems = readModules(b.bundle, capabilities()) }, func() {
		if b.doc, dataProblems = readData(b.bundle); len(dataProblems) == 0 {
			dataProblems = b.checkConfig()
		}
	})
	if len(dataProblems) == 0 && len(b.doc.root) == 0 && len(b.bundle.namesOf(kindModule)) == 0 {
		return []Problem{{Code: CodeEmpty, Message: "the policy is empty: no holdshort.config and no rules",
			Try: "a data.yaml with holdshort: {config: {flavors: …, queues: …}}"}}
	}
	return append(problems, dataProblems...)
}

// beside runs f and g at the same time. A panic of either is one of the caller's.
func beside(f, g func()) {
	panicked := make(chan any, 1)
	go func() {
		defer func() { panicked <- recover() }()
		f()
	}()
	g()
	if r := <-panicked; r != nil {
		panic(r)
	}
}

// checkConfig holds holdshort.config against its type, whether or not a rule
// reads it: a key that nothing reads is a misspelt one.
func (b *build) checkConfig() []Problem {
	value, err := ast.InterfaceToValue(b.doc.root)
	if err != nil {
		return []Problem{{Code: CodeInternal, Message: "storing the data: " + err.Error()}}
	}
	b.data = value.(ast.Object)
	if _, there := b.configValue(); !there {
		return nil
	}
	config, err := b.data.Find(ast.Ref{ast.InternedTerm("holdshort"), ast.InternedTerm("config")})
	if err != nil {
		return []Problem{{Code: CodeInternal, Message: "reading holdshort.config: " + err.Error()}}
	}
	var problems []Problem
	found := decode(nil, config, &b.config)
	for _, p := range found[:min(len(found), mostPlaced)] {
		problems = append(problems, b.inData(CodeData, p))
	}
	return problems
}

// mostPlaced problems are looked for in the text: each is a search, and few are told.
const mostPlaced = 1000

func (b *build) configValue() (any, bool) {
	top, ok := b.doc.root["holdshort"].(map[string]any)
	if !ok {
		return nil, false
	}
	config, there := top["config"]
	return config, there
}

// inData places a problem at a path below holdshort.config.
func (b *build) inData(code string, p fieldProblem) Problem {
	at := b.doc.find(append(fieldPath{"holdshort", "config"}, p.path...))
	return Problem{File: at.file, Row: at.row, Col: at.col, Code: code, Message: p.message, Try: p.try}
}

func (b *build) compile(context.Context) []Problem {
	b.mods.addLocated()
	b.mods.narrowTypes()
	schemas, err := schemaSet()
	if err != nil {
		return []Problem{{Code: CodeInternal, Message: err.Error()}}
	}
	b.compiler = newCompiler(schemas)
	b.compiler.Compile(b.mods.byFile)
	if b.compiler.Failed() {
		return unlocated(fromOPA("", b.compiler.Errors))
	}
	config, _ := b.configValue()
	known, _ := config.(map[string]any)
	var problems, warnings, clashes, doubts []Problem
	beside(func() { clashes, doubts = checkComparisons(b.compiler, known["custom"]) }, func() {
		problems, warnings = checkSpelling(b.compiler)
		warnings = append(warnings, checkCustom(b.compiler, known)...)
		wrong, doubtful := checkCodes(b.compiler)
		problems, warnings = append(problems, wrong...), append(warnings, doubtful...)
	})
	problems = append(problems, clashes...)
	b.warnings = slices.Concat(b.warnings, warnings, doubts)
	return append(problems, b.checkTypes(schemas)...)
}

func newCompiler(schemas *ast.SchemaSet) *ast.Compiler {
	compiler := ast.NewCompiler().WithCapabilities(capabilities()).WithStrict(true).
		WithSchemas(schemas).WithUseTypeCheckAnnotations(true).WithEnablePrintStatements(false)
	compiler.SetErrorLimit(0)
	return compiler
}
