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

// evaluate asks for the catalog, and makes sure that it holds together. Of
// machines nothing is known yet, so a catalog that reads them is tried with none:
// it must have an answer to that, too, and until they are known it is in force.
func (b *build) evaluate(ctx context.Context) []Problem {
	r := b.revision
	if r.ReadsPart(groupCatalog, "capacity") {
		if problems := b.nameFlavors(ctx); len(problems) > 0 {
			return problems
		}
	}
	in := r.catalogInput(b.options.Now(), nil)
	catalog, wrong, doubtful, err := r.askCatalog(ctx, in, b.options.CatalogDeadline)
	if err != nil {
		return []Problem{fromEval(err)}
	}
	var problems []Problem
	for _, p := range wrong {
		if p.undefined {
			problems = append(problems, b.undefined(p.field))
		} else {
			problems = append(problems, b.inCatalog(p.field, p.fieldProblem))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	for _, p := range doubtful {
		b.warnings = append(b.warnings, b.inCatalog(p.field, p.fieldProblem))
	}
	b.checkTeams(catalog)
	r.use(catalog, in)
	return nil
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
	if failed.Code == EvalConflict {
		problem.Try = ConflictAdvice
	}
	if at := strings.LastIndex(failed.At, ":"); at > 0 {
		problem.File = failed.At[:at]
		problem.Row, _ = strconv.Atoi(failed.At[at+1:])
	}
	return problem
}
