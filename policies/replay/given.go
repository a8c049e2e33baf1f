package replay

import (
	"context"
	"reflect"

	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/record"
)

// given tells whether the new policy's mutate gives a Job something else than it had
// when it was recorded. Then the new policy would be asked about another Job than the
// one that the records have, and its answer about that one says nothing.
type given map[record.Workload]bool

func (g given) note(r record.Record, other bool) {
	if r.Holdshort.Workload != nil {
		g[*r.Holdshort.Workload] = other
	}
}

// another says why a record cannot be compared for that; nothing if it can.
func (g given) another(ctx context.Context, r record.Record, input map[string]any, policy *engine.Revision) string {
	entrypoint := entrypointOf(r)
	if r.Holdshort.Workload == nil || entrypoint == "mutate" || entrypoint == "catalog" {
		return ""
	}
	other, known := g[*r.Holdshort.Workload]
	if !known && policy.HasMutate() {
		other = gives(ctx, input, policy) // the policy then had no mutate
		if entrypoint != "hold" {         // which sees less
			g.note(r, other)
		}
	}
	if other {
		return "the new policy's mutate gives the Job something else than it had, so it would be asked about another Job"
	}
	return ""
}

// gives tells whether the policy's mutate gives a Job anything, as far as can be told.
func gives(ctx context.Context, input map[string]any, policy *engine.Revision) bool {
	result, missing, err := policy.Answer(ctx, "mutate", input)
	return err != nil || len(missing) > 0 || !reflect.DeepEqual(withoutEmpty(result), map[string]any{})
}

// withoutEmpty leaves out what gives nothing: a rule that adds no key has an empty
// object, and no rule has none.
func withoutEmpty(mutation any) any {
	fields, ok := mutation.(map[string]any)
	if !ok {
		return mutation
	}
	some := map[string]any{}
	for name, value := range fields {
		object, isObject := value.(map[string]any)
		list, isList := value.([]any)
		if isObject && len(object) == 0 || isList && len(list) == 0 {
			continue
		}
		some[name] = value
	}
	return some
}
