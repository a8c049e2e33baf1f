package engine

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// anewParts is how many times as long as about a workload the catalog may take
// when it is asked again: who asks has Jobs to admit meanwhile.
const anewParts = 4

// current is the catalog as it was evaluated last, and with what.
type current struct {
	catalog *policies.Catalog
	input   *policies.CatalogInput
	terms   map[string]*ast.Term // of the input, by part
}

// catalogProblem is something wrong with a field of the catalog.
type catalogProblem struct {
	field field
	fieldProblem
	undefined bool
}

// Catalog is what exists, as it was evaluated last. Callers must not change it.
func (r *Revision) Catalog() *policies.Catalog { return r.current.Load().catalog }

// EvaluateCatalog evaluates the catalog for a minute and a capacity; from then on
// it is what Catalog gives and what the other rules read. A catalog that reads
// neither is returned as it is. On an error the last good one stays.
func (r *Revision) EvaluateCatalog(ctx context.Context, now time.Time, capacity policies.CatalogCapacity) (*policies.Catalog, error) {
	if !r.ReadsPart(groupCatalog, "now_ns") && !r.ReadsPart(groupCatalog, "capacity") {
		return r.Catalog(), nil
	}
	in := r.catalogInput(now, capacity)
	catalog, wrong, _, err := r.askCatalog(ctx, in, min(r.options.CatalogDeadline, anewParts*r.options.Deadline))
	if err != nil {
		return nil, err
	}
	if len(wrong) > 0 {
		p := wrong[0]
		if p.undefined {
			return nil, r.evalError(p.field, EvalUndefined, "no rule gives a value now")
		}
		return nil, r.evalError(p.field, EvalType, strings.TrimPrefix(p.message, p.field.name+": "))
	}
	r.use(catalog, in)
	return catalog, nil
}

func (r *Revision) use(catalog *policies.Catalog, in *policies.CatalogInput) {
	terms := map[string]*ast.Term{"now_ns": ast.InternedTerm(int(in.NowNS))}
	if term, err := r.encoder.term(reflect.ValueOf(in.Capacity), r.encoder.whole); err == nil {
		terms["capacity"] = term
	}
	r.current.Store(&current{catalog, in, terms})
}

// catalogInput has the moment cut to the minute, so that all who evaluate in it
// get the same, and every flavor with every resource that the policy names: a
// rule that reads an amount must not become undefined with the last machine.
func (r *Revision) catalogInput(now time.Time, capacity policies.CatalogCapacity) *policies.CatalogInput {
	in := &policies.CatalogInput{NowNS: now.Truncate(time.Minute).UnixNano(), Capacity: policies.CatalogCapacity{}}
	for name, amounts := range capacity {
		in.Capacity[name] = maps.Clone(amounts)
	}
	for _, flavor := range r.flavors {
		if in.Capacity[flavor] == nil {
			in.Capacity[flavor] = map[string]policies.Totals{}
		}
		for _, name := range r.named {
			if _, there := in.Capacity[flavor][name]; !there {
				in.Capacity[flavor][name] = policies.Totals{}
			}
		}
	}
	return in
}

// nameFlavors asks for the flavors alone: what the machines are counted by can't
// depend on their number.
func (b *build) nameFlavors(ctx context.Context) []Problem {
	f, _ := fieldAt(groupCatalog + ".flavors")
	p, err := b.probe(groupCatalog, []field{f}, b.store)
	if err != nil {
		return []Problem{{Code: CodeInternal, Message: "preparing " + f.path() + ": " + err.Error()}}
	}
	result, err := p.eval(ctx, ast.NewObject(), b.options.CatalogDeadline)
	if err != nil {
		return []Problem{fromEval(err)}
	}
	if object, ok := result.of(0).(ast.Object); ok {
		object.Foreach(func(key, _ *ast.Term) { b.revision.flavors = append(b.revision.flavors, keyText(key)) })
	}
	slices.Sort(b.revision.flavors)
	return nil // what is wrong with them is found with the rest
}

func (r *Revision) askCatalog(ctx context.Context, in *policies.CatalogInput, limit time.Duration) (catalog *policies.Catalog, wrong, doubtful []catalogProblem, err error) {
	p := r.probes[groupCatalog]
	began := r.begin()
	input, err := r.encoder.value(in, p.seen)
	if err != nil {
		return nil, nil, nil, &EvalError{Entrypoint: p.group, Code: EvalInternal, Message: "building input: " + err.Error()}
	}
	result, err := p.eval(ctx, input, limit)
	r.observe(ctx, asked{group: groupCatalog, input: in, began: began}, result, err)
	if err != nil {
		return nil, nil, nil, err
	}
	catalog = &policies.Catalog{}
	targets := catalogTargets(catalog)
	for i, f := range p.fields {
		value := result.of(i)
		if value == nil {
			if f.required {
				wrong = append(wrong, catalogProblem{field: f, undefined: true})
			}
			continue
		}
		for _, problem := range decode(fieldPath{f.name}, value, targets[f.name]) {
			wrong = append(wrong, catalogProblem{field: f, fieldProblem: problem})
		}
	}
	if len(wrong) > 0 {
		return nil, wrong, nil, nil
	}
	bad, odd := validate(catalog)
	return catalog, inFields(bad), inFields(odd), nil
}

// catalogTargets is where each field of the catalog is decoded to.
func catalogTargets(catalog *policies.Catalog) map[string]any {
	return map[string]any{"queues": &catalog.Queues, "flavors": &catalog.Flavors,
		"resources": &catalog.Resources, "unreserved": &catalog.Unreserved, "rivals": &catalog.Rivals,
		"cohorts": &catalog.Cohorts, "fairSharing": &catalog.FairSharing, "kinds": &catalog.Kinds}
}

func inFields(problems []fieldProblem) []catalogProblem {
	list := make([]catalogProblem, 0, len(problems))
	for _, p := range problems {
		list = append(list, catalogProblem{field: fieldOf(p.path), fieldProblem: p})
	}
	return list
}

// Reads is what the rules of an entrypoint read, through helpers too: paths as
// Rego writes them, sorted. What isn't there cannot change an answer.
type Reads struct {
	Entrypoint string
	Input      []string // input.workload.queue
	Config     []string // data.holdshort.config.classes
}

// Reads tells for each entrypoint that has rules what it reads.
func (r *Revision) Reads() []Reads {
	var all []Reads
	for _, p := range r.probes {
		if !slices.ContainsFunc(p.fields, func(f field) bool { return r.rules[f.path()].first != nil }) {
			continue
		}
		reads := Reads{Entrypoint: p.group}
		if len(p.seen.parts) > 0 {
			reads.Input = p.seen.paths("input")
		}
		if p.config.all || len(p.config.parts) > 0 {
			reads.Config = p.config.paths("data.holdshort.config")
		}
		all = append(all, reads)
	}
	slices.SortFunc(all, func(a, b Reads) int { return cmp.Compare(a.Entrypoint, b.Entrypoint) })
	return all
}

// String is one line of a status; the config's paths are cut to where they differ.
func (r Reads) String() string {
	paths := slices.Clone(r.Input)
	for _, path := range r.Config {
		paths = append(paths, strings.TrimPrefix(path, "data.holdshort."))
	}
	return r.Entrypoint + " reads " + strings.Join(paths, ", ")
}
