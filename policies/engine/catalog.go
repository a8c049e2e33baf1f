package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdshort/holdshort/policies"
)

// evaluate asks for the catalog, once, and makes sure that it holds together.
func (b *build) evaluate(ctx context.Context) []Problem {
	probe := b.revision.probes[groupCatalog]
	result, err := probe.run(ctx, b.revision.encoder, &policies.Input{}, b.options.CatalogDeadline)
	if err != nil {
		return []Problem{fromEval(err)}
	}
	catalog := &policies.Catalog{}
	targets := map[string]any{"queues": &catalog.Queues, "flavors": &catalog.Flavors,
		"resources": &catalog.Resources, "unreserved": &catalog.Unreserved}
	var problems []Problem
	for _, f := range probe.fields {
		value := answer(result, f)
		if value == nil {
			if f.required {
				problems = append(problems, b.undefined(f))
			}
			continue
		}
		for _, p := range decode(fieldPath{f.name}, value, targets[f.name]) {
			problems = append(problems, b.inCatalog(f, p))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	wrong, doubtful := validate(catalog)
	for _, p := range wrong {
		problems = append(problems, b.inCatalog(fieldOf(p.path), p))
	}
	for _, p := range doubtful {
		b.warnings = append(b.warnings, b.inCatalog(fieldOf(p.path), p))
	}
	b.checkTeams(catalog)
	b.revision.catalog = catalog
	return problems
}

// checkTeams: a team whose queue is not there only waits for it, so it is no error.
func (b *build) checkTeams(catalog *policies.Catalog) {
	for _, name := range slices.Sorted(maps.Keys(b.config.Teams)) {
		queue := b.config.Teams[name].Queue
		if _, ok := catalog.Queues[queue]; ok {
			continue
		}
		path := fieldPath{"teams", name, "queue"}
		b.warnings = append(b.warnings, b.inData(CodeCatalog, fieldProblem{path: path,
			message: fmt.Sprintf("%s: there is no queue %q", path, queue),
			try:     nearest(queue, slices.Sorted(maps.Keys(catalog.Queues)))}))
	}
}

func fieldOf(path fieldPath) field {
	f, _ := fieldAt(groupCatalog + "." + path[0])
	return f
}

func (b *build) undefined(f field) Problem {
	p := fieldProblem{nil, "holdshort.config has no " + f.name, f.name + ": {…} under holdshort.config"}
	if b.revision.rules[f.path()].isDefault {
		return b.inData(CodeCatalog, p)
	}
	return problemAt(b.revision.rules[f.path()].first, CodeCatalog, f.path()+" is undefined", "a value for every case, or default "+f.name)
}

// inCatalog places a problem of the catalog: in the data if the field comes from
// there, else at the rule that computes it.
func (b *build) inCatalog(f field, p fieldProblem) Problem {
	if b.revision.rules[f.path()].isDefault {
		return b.inData(CodeCatalog, p)
	}
	return problemAt(b.revision.rules[f.path()].first, CodeCatalog, "catalog."+p.message, p.try)
}

// fromEval makes a problem of an error at activation.
func fromEval(err error) Problem {
	problem := Problem{Code: CodeCatalog, Message: err.Error()}
	var failed *EvalError
	if !errors.As(err, &failed) {
		return problem
	}
	problem.Message = failed.Entrypoint + ": " + failed.Message
	if at := strings.LastIndex(failed.At, ":"); at > 0 {
		problem.File = failed.At[:at]
		problem.Row, _ = strconv.Atoi(failed.At[at+1:])
	}
	return problem
}
