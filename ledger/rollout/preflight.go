package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// A pre-flight is over after so long, and after so many Jobs about which the
// candidate had no answer in time: whoever made it has to make it faster first, and
// nobody else's policy waits for it.
const (
	preflightMax = 15 * time.Second
	lateMax      = 20
)

// slow is a policy that was not tried on all Jobs, since that takes too long.
type slow struct{ why string }

func (s slow) Error() string { return s.why }

// examplesMax is how many Jobs of one kind of change are named.
const examplesMax = 5

// Kinds of change, in the order in which they are shown: what harms comes first.
const (
	changeFails    = "Fails"
	changeDenied   = "Denied"
	changeUnknown  = "UnknownQueue"
	changeResource = "UnknownResource"
	changeHeld     = "Held"
	changeFlavor   = "FlavorLost"
	changeOver     = "OverQuota"
	changeQueue    = "QueueChanged"
	changePriority = "PriorityChanged"
)

func kinds() []string {
	return []string{changeFails, changeDenied, changeUnknown, changeResource, changeHeld, changeFlavor, changeOver, changeQueue, changePriority}
}

// Live is a Job that is not over, with what the policy in force said of it.
type Live struct {
	Name  string // namespace/name
	Input *policies.Input
	// RawJob makes Input.Job, for policies that read it.
	RawJob func() (map[string]any, error)
	// Given is it with another mutation. What runs keeps what it was given: nil.
	Given policies.Given
	// Verdict of the policy in force; Fails and Denied are what else it said.
	Verdict       policies.Verdict
	Fails, Denied bool
	// Hold is what hold would be asked about a Job that waits, if it could start
	// now, but for the verdict; nil: it runs, or has no queue.
	Hold *policies.Input
	// Queue and Holds of an admitted Job: what it was given, and where.
	Admitted bool
	Queue    string
	Holds    []Holding
}

// Holding is an amount of one resource, as pods ask for it: each policy has its own
// word on what is charged for that.
type Holding struct {
	Resource string
	Amount   int64
	Flavors  map[string]string // resource → flavor, as in the reservation
}

// flight is a pre-flight in progress.
type flight struct {
	old, candidate *engine.Revision
	counts         map[string]int64
	examples       map[string][]string
	harmed         int64
	late           int            // Jobs about which there was no answer in time
	why            string         // the last time
	used           map[cell]int64 // by what the candidate charges
	had            map[cell]int64 // by what the policy in force charges
}

// cell is where an admitted Job is charged.
type cell struct{ queue, flavor, resource string }

// preflight asks a candidate about each Job, and says what would change. It has
// no effect on any of them.
func preflight(ctx context.Context, jobs []Live, old, candidate *engine.Revision) (*v1alpha1.Preflight, error) {
	f := &flight{old: old, candidate: candidate, counts: map[string]int64{}, examples: map[string][]string{}, used: map[cell]int64{}, had: map[cell]int64{}}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, preflightMax)
	defer cancel()
	for i := range jobs {
		f.job(ctx, &jobs[i])
		switch {
		case whole.Err() != nil:
			return nil, fmt.Errorf("asking the candidate about the Jobs: %w", whole.Err())
		case ctx.Err() != nil:
			return nil, slow{fmt.Sprintf("asking it about the %d Jobs that there are takes more than %s. Try: kubectl holdshort policy bench", len(jobs), preflightMax)}
		case f.late >= lateMax:
			return nil, slow{fmt.Sprintf("it had no answer in time about %d of the first %d Jobs, the last time: %s", f.late, i+1, f.why)}
		}
	}
	f.quotas()
	result := &v1alpha1.Preflight{Jobs: int64(len(jobs))}
	if len(jobs) > 0 {
		result.HarmedPercent = f.harmed * 100 / int64(len(jobs))
	}
	for _, kind := range kinds() {
		if n := f.counts[kind]; n > 0 {
			result.Changes = append(result.Changes, v1alpha1.PreflightChange{Kind: kind, Count: n, Examples: f.examples[kind]})
		}
	}
	return result, nil
}

func (f *flight) note(kind, format string, args ...any) {
	f.counts[kind]++
	if len(f.examples[kind]) < examplesMax {
		f.examples[kind] = append(f.examples[kind], fmt.Sprintf(format, args...))
	}
}

// job asks about one Job. What was wrong with it before is not the candidate's.
func (f *flight) job(ctx context.Context, live *Live) {
	f.charge(live)
	verdict, kind, why := f.judge(ctx, live)
	if kind != "" {
		f.harmed++
		f.note(kind, "%s: %s", live.Name, why)
		return
	}
	if live.Fails || verdict.Queue == "" {
		return
	}
	if verdict.Queue != live.Verdict.Queue {
		f.note(changeQueue, "%s: from %s to %s", live.Name, live.Verdict.Queue, verdict.Queue)
	}
	if verdict.Priority != live.Verdict.Priority {
		f.note(changePriority, "%s: from %d to %d", live.Name, live.Verdict.Priority, verdict.Priority)
	}
}

// fails is an error in words; no answer in time is counted.
func (f *flight) fails(err error) string {
	var eval *engine.EvalError
	if errors.As(err, &eval) && (eval.Code == engine.EvalDeadline || eval.Code == engine.EvalMemory) {
		f.late++
		f.why = err.Error()
	}
	return err.Error()
}

// judge gives the kind of harm, if there is any that is new.
func (f *flight) judge(ctx context.Context, live *Live) (verdict policies.Verdict, kind, why string) {
	in, err := f.given(ctx, live)
	if err != nil {
		return verdict, unless(live.Fails, changeFails), f.fails(err)
	}
	verdict, err = f.candidate.Classify(ctx, in)
	if err != nil {
		return verdict, unless(live.Fails, changeFails), f.fails(err)
	}
	if live.Admitted { // neither denied nor queued any more
		kind, why = f.unknown(live.holds(), live.Queue, live.Queue)
		return verdict, kind, why
	}
	denied, err := f.candidate.Deny(ctx, in)
	if err != nil {
		return verdict, unless(live.Fails, changeFails), f.fails(err)
	}
	if len(denied) > 0 {
		return verdict, unless(live.Denied, changeDenied), denied[0].Code + ": " + denied[0].Message
	}
	if queue := verdict.Queue; !takes(f.candidate, queue, in.Namespace) && takes(f.old, live.Verdict.Queue, in.Namespace) {
		return verdict, changeUnknown, fmt.Sprintf("there is no queue %q for namespace %s", queue, in.Namespace.Name)
	}
	if kind, why := f.unknown(resource.List(in.Workload.Total).Names(), live.Verdict.Queue, verdict.Queue); kind != "" {
		return verdict, kind, why
	}
	if err := f.hold(ctx, live, in.Workload, verdict); err != nil {
		return verdict, unless(live.Fails, changeFails), f.fails(err)
	}
	return verdict, "", ""
}

// hold notes a Job that waits and that only the candidate would hold if it could
// start now. That is no harm: a hold is meant to end.
func (f *flight) hold(ctx context.Context, live *Live, given *policies.Workload, verdict policies.Verdict) error {
	if live.Hold == nil {
		return nil
	}
	ask := func(revision *engine.Revision, workload *policies.Workload, verdict policies.Verdict) ([]policies.Reason, error) {
		in := *live.Hold
		in.Workload = workload
		in.Verdict = verdict.Input()
		return revision.Hold(engine.Quietly(ctx), &in) // nothing depends on it, so no record has it
	}
	held, err := ask(f.candidate, given, verdict)
	before, failed := ask(f.old, live.Hold.Workload, live.Verdict)
	if failed != nil {
		held, err = nil, nil // what was wrong before is not the candidate's
	}
	if err != nil {
		return err
	}
	if len(held) > 0 && len(before) == 0 {
		f.note(changeHeld, "%s: %s: %s", live.Name, held[0].Code, held[0].Message)
	}
	return nil
}

// given is the Job as it would be under the candidate. What waits is as its user wrote
// it, with what the candidate's mutate wants; what the one in force wants goes with it.
func (f *flight) given(ctx context.Context, live *Live) (*policies.Input, error) {
	if live.Given != nil {
		return under(ctx, f.candidate, live.Given)
	}
	in := *live.Input
	if !f.candidate.ReadsJob() {
		return &in, nil
	}
	var err error
	in.Job, err = live.RawJob()
	return &in, err
}

// under is a Job as it would be under a policy that is not in force.
func under(ctx context.Context, other *engine.Revision, given policies.Given) (*policies.Input, error) {
	in, err := given(policies.Mutation{}, other.ReadsJob())
	if err != nil || !other.HasMutate() {
		return in, err
	}
	said, err := other.Mutate(ctx, in)
	if err != nil {
		return nil, err
	}
	return given(said, other.ReadsJob())
}

func unless(before bool, kind string) string {
	if before {
		return ""
	}
	return kind
}

func takes(revision *engine.Revision, queue string, from *policies.Namespace) bool {
	q, ok := revision.Catalog().Queues[queue]
	return ok && q.Accepts(from.Name, from.Labels)
}

// charge adds what an admitted Job holds, and tells if the candidate does not
// have its machines any more.
func (f *flight) charge(live *Live) {
	lost := ""
	for _, h := range live.Holds {
		h.charge(live.Queue, f.candidate, f.used)
		h.charge(live.Queue, f.old, f.had)
		flavor := resource.FlavorOf(h.Flavors, h.Resource)
		if lost == "" && offers(f.old, live.Queue, flavor) && !offers(f.candidate, live.Queue, flavor) {
			lost = flavor
		}
	}
	if lost != "" {
		f.note(changeFlavor, "%s: runs on %s, which queue %s would not have", live.Name, lost, live.Queue)
	}
}

func (h Holding) charge(queue string, by *engine.Revision, sums map[cell]int64) {
	rates := resource.NewRates(by.Catalog().Resources.Conversions)
	rates.Each(h.Resource, h.Amount, func(charged string, amount int64) {
		at := cell{queue, resource.FlavorOf(h.Flavors, charged, h.Resource), charged}
		sums[at] = resource.Add(sums[at], amount)
	})
}

func offers(revision *engine.Revision, queue, flavor string) bool {
	catalog := revision.Catalog()
	_, exists := catalog.Flavors[flavor]
	return exists && slices.Contains(catalog.Queues[queue].Flavors, flavor)
}

// quotas tells which queues would use more than they may, and do not now.
func (f *flight) quotas() {
	over := map[string][]cell{}
	for at, used := range f.used {
		if exceeds(f.candidate, at, used) && !exceeds(f.old, at, f.had[at]) {
			over[at.queue] = append(over[at.queue], at)
		}
	}
	for _, queue := range slices.Sorted(maps.Keys(over)) {
		worst := slices.MinFunc(over[queue], func(a, b cell) int {
			return cmp.Or(cmp.Compare(a.flavor, b.flavor), cmp.Compare(a.resource, b.resource))
		})
		f.note(changeOver, "%s: uses %s of %s %s on %s", queue, reason.Amount(worst.resource, f.used[worst]),
			reason.Amount(worst.resource, nominal(f.candidate, worst)), worst.resource, worst.flavor)
	}
}

// exceeds: a flavor of the queue names the resource, and this one has less of it.
func exceeds(revision *engine.Revision, at cell, used int64) bool {
	if used <= nominal(revision, at) {
		return false
	}
	for _, limits := range revision.Catalog().Queues[at.queue].Quota {
		if _, ok := limits[at.resource]; ok {
			return true
		}
	}
	return false
}

func nominal(revision *engine.Revision, at cell) int64 {
	return revision.Catalog().Queues[at.queue].Quota[at.flavor][at.resource].Nominal
}
