package engine

import (
	"slices"

	"github.com/holdshort/holdshort/policies"
)

// HasHold says whether any rule can hold a workload, the default ones included.
func (r *Revision) HasHold() bool { return r.has(groupHold) }

// HasDeny says whether any rule can deny a workload.
func (r *Revision) HasDeny() bool { return r.has(groupDeny) }

// HasWarn says whether any rule can warn.
func (r *Revision) HasWarn() bool { return r.has(groupWarn) }

// HasProtect says whether any rule can keep a workload from making room.
func (r *Revision) HasProtect() bool { return r.has(groupProtect) }

// HasMutate says whether any rule can change a workload.
func (r *Revision) HasMutate() bool { return r.has(groupMutate) }

func (r *Revision) has(group string) bool {
	return slices.ContainsFunc(r.probes[group].fields, func(f field) bool { return r.rules[f.path()].first != nil })
}

// HoldApplies says whether hold can have anything to say of a workload with
// these labels: without rules of the policy's own, only the priority class is
// looked at. It saves an evaluation for most workloads of most policies.
func (r *Revision) HoldApplies(labels map[string]string) bool {
	if !r.HasHold() {
		return false
	}
	return !r.rules[groupHold].isDefault || labels[policies.LabelPriority] != ""
}

// HasOwn says whether the policy has rules of its own for an entrypoint, such as
// deny or classify, beside the defaults.
func (r *Revision) HasOwn(entrypoint string) bool {
	return slices.ContainsFunc(fieldsOf(entrypoint), func(f field) bool {
		known := r.rules[f.path()]
		return known.first != nil && !known.isDefault
	})
}

// Recorded says whether anybody is told what the policy was asked and said.
func (r *Revision) Recorded() bool { return r.options.Observe != nil }

// ReadsJob says whether any rule reads the raw Job, input.job; it need not be
// given otherwise.
func (r *Revision) ReadsJob() bool {
	return slices.ContainsFunc([]string{groupClassify, groupMutate, groupDeny, groupWarn},
		func(group string) bool { return r.ReadsPart(group, "job") })
}

// ReadsPart says whether the rules of an entrypoint (catalog, classify, deny,
// mutate, warn, hold) read a part of input, such as workload or now_ns. What they don't
// read cannot change their answer.
func (r *Revision) ReadsPart(entrypoint, part string) bool {
	p, ok := r.probes[entrypoint]
	return ok && p.seen.part(part) != nil
}
