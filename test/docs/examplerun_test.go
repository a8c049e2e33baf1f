package docs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// exampleDay is the day of all examples.
func exampleDay() time.Time { return time.Date(2027, time.January, 4, 0, 0, 0, 0, time.UTC) }

// played is an example and what came of it.
type played struct {
	catalog *policies.Catalog
	jobs    []*batchv1.Job
	asks    map[string]*demand.Job // by name
	begin   map[string]int64       // when each arrived
	// verdicts of the policy, by name.
	verdicts map[string]policies.Verdict
	log      *sim.Log
	said     map[string]string             // why a Job waits: name and moment → message
	rights   map[string]demand.Right       // by which a Job was taken back: name and moment
	states   map[int64][]decide.QueueState // after the last plan of a moment
	starts   map[int64]map[string][]estimate.Start
}

func moment(uid string, at int64) string { return fmt.Sprint(uid, " ", at) }

// play runs an example as the manager would: the engine judges its Jobs as the
// intake reads them, and the clock of the simulation passes.
func (x *example) play(ctx context.Context) (*played, error) {
	revision, err := engine.Compile(ctx, engine.Bundle{Source: "example", Files: x.files}, engine.Options{})
	if err != nil {
		return nil, fmt.Errorf("the policy is refused: %w", err)
	}
	p := &played{
		catalog: revision.Catalog(), asks: map[string]*demand.Job{}, begin: map[string]int64{},
		verdicts: map[string]policies.Verdict{}, said: map[string]string{},
		rights: map[string]demand.Right{}, states: map[int64][]decide.QueueState{},
		starts: map[int64]map[string][]estimate.Start{},
	}
	w := sim.World{Catalog: p.catalog, Namespaces: map[string]map[string]string{"default": {}}, Observe: p.observe}
	nodes, err := x.nodes(p.catalog)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		w.Changes = append(w.Changes, sim.Change{At: exampleDay().UnixNano(), Node: node})
	}
	for i, row := range x.jobs {
		arrives, err := p.job(ctx, revision, row)
		if err != nil {
			return nil, fmt.Errorf("row %d of the Jobs: %w", i+1, err)
		}
		w.Changes = append(w.Changes, arrives)
	}
	if revision.HasProtect() {
		w.Rules.Protect = func(ask decide.ProtectAsk, now int64) decide.ProtectAnswer { return p.protect(ctx, revision, ask, now) }
	}
	p.log, err = sim.Run(w)
	return p, err
}

// protect asks the policy as the manager does, and again a minute later.
func (p *played) protect(ctx context.Context, revision *engine.Revision, ask decide.ProtectAsk, now int64) decide.ProtectAnswer {
	victim, by := p.asks[ask.Victim].Policy, p.asks[ask.By].Policy
	why, err := revision.Protect(ctx, &policies.Input{
		Workload: victim, NowNS: now,
		Victim: &policies.Victim{
			Workload: victim, Verdict: p.verdicts[ask.Victim].Input(), AdmittedNS: ask.Admitted,
			RanSec: (now - ask.Admitted) / int64(time.Second), Flavors: ask.Flavors, Borrowing: ask.Borrowing,
		},
		Incoming: &policies.Incoming{Workload: by, Verdict: p.verdicts[ask.By].Input()},
	})
	switch {
	case err != nil:
		return decide.ProtectAnswer{Reason: &reason.Reason{Code: reason.PolicyError, Message: err.Error()}}
	case len(why) > 0:
		return decide.ProtectAnswer{Reason: &reason.Reason{Code: reason.HeldByPolicy, Message: why[0].Message, Until: now + int64(time.Minute)}}
	}
	return decide.ProtectAnswer{}
}

// job is a row as the Job that its user would create.
func (p *played) job(ctx context.Context, revision *engine.Revision, row map[string]string) (sim.Change, error) {
	at, err := clock(row["at"])
	if err != nil {
		return sim.Change{}, err
	}
	job, err := jobOf(row)
	if err != nil {
		return sim.Change{}, err
	}
	made := job.DeepCopy()
	made.UID, made.CreationTimestamp = types.UID(job.Name), metav1.NewTime(time.Unix(0, at))
	read := intake.Job(made, intake.Env{FirstSeen: at})
	if read.Problem != nil {
		return sim.Change{}, fmt.Errorf("%s: %s", job.Name, read.Problem.Message)
	}
	namespace := policies.Namespace{Name: job.Namespace, Labels: map[string]string{}}
	verdict, err := revision.Classify(ctx, &policies.Input{Workload: read.Policy, Namespace: &namespace})
	if err != nil {
		return sim.Change{}, err
	}
	p.verdicts[job.Name] = verdict
	w := &sim.Workload{
		UID: job.Name, Namespace: job.Namespace, Name: job.Name, PodSets: read.PodSets, Verdict: verdict, Policy: read.Policy,
	}
	if row["runs"] != "" {
		runs, err := time.ParseDuration(row["runs"])
		if err != nil {
			return sim.Change{}, err
		}
		w.Runs = runs.Nanoseconds()
	}
	p.jobs, p.asks[job.Name], p.begin[job.Name] = append(p.jobs, job), read, at
	return sim.Change{At: at, Arrive: w}, nil
}

// jobOf makes the manifest that a row stands for.
func jobOf(row map[string]string) (*batchv1.Job, error) {
	pods, each, found := strings.Cut(row["pods"], " × ")
	count, err := strconv.ParseInt(pods, 10, 32)
	if !found || err != nil {
		return nil, fmt.Errorf("%q is no number of pods × what each asks for", row["pods"])
	}
	asked, err := amounts(each)
	if err != nil {
		return nil, err
	}
	all := int32(count)
	job := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: row["Job"], Namespace: "default", Labels: map[string]string{policies.LabelQueue: row["queue"]}},
		Spec:       batchv1.JobSpec{Parallelism: &all, Completions: &all},
	}
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: asked, Limits: asked}}}
	if class := row["class"]; class != "" {
		job.Labels[policies.LabelPriority] = class
	}
	if least := row["least"]; least != "" {
		job.Annotations = map[string]string{policies.AnnotationLeast: least}
	}
	if row["deadline"] != "" {
		deadline, err := time.ParseDuration(row["deadline"])
		if err != nil {
			return nil, err
		}
		seconds := int64(deadline.Seconds())
		job.Spec.ActiveDeadlineSeconds = &seconds
	}
	return job, nil
}

// amounts reads "4 GPUs, 8 cores, 16Gi".
func amounts(text string) (corev1.ResourceList, error) {
	all := corev1.ResourceList{}
	for part := range strings.SplitSeq(text, ", ") {
		amount, unit, _ := strings.Cut(part, " ")
		name := map[string]string{"": "memory", "GPU": "nvidia.com/gpu", "GPUs": "nvidia.com/gpu", "core": "cpu", "cores": "cpu"}[unit]
		q, err := quantity.ParseQuantity(amount)
		if err != nil || name == "" {
			return nil, fmt.Errorf("%q is no amount. Try: 4 GPUs, 8 cores, 16Gi", part)
		}
		all[corev1.ResourceName(name)] = q
	}
	return all, nil
}

// clock reads a time of the day.
func clock(text string) (int64, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fmt.Errorf("%q is no time of the day", text)
	}
	return exampleDay().Add(t.Sub(t.Truncate(24 * time.Hour))).UnixNano(), nil
}

// nodes are the machines of an example; without any in it, there is one of each
// flavor with room for everything.
func (x *example) nodes(catalog *policies.Catalog) ([]*supply.Node, error) {
	var all []*supply.Node
	add := func(flavor string, has resource.List) {
		f := catalog.Flavors[flavor]
		all = append(all, &supply.Node{
			Name: fmt.Sprintf("%s-%d", flavor, len(all)+1), Labels: f.NodeLabels, Taints: f.Taints, Ready: true, Allocatable: has, Capacity: has,
		})
	}
	const plenty = 1_000_000
	for _, flavor := range sortedKeys(catalog.Flavors) {
		if len(x.machines) == 0 {
			add(flavor, resource.List{"nvidia.com/gpu": plenty, "cpu": plenty * 1000, "memory": plenty << 30, "pods": plenty})
		}
	}
	for _, row := range x.machines {
		if _, there := catalog.Flavors[row["flavor"]]; !there {
			return nil, fmt.Errorf("machines of %q, which is no flavor", row["flavor"])
		}
		count, err := strconv.Atoi(row["machines"])
		if err != nil {
			return nil, fmt.Errorf("%q machines: %w", row["machines"], err)
		}
		list, err := amounts(row["each has"])
		if err != nil {
			return nil, err
		}
		has := resource.List{"cpu": plenty * 1000, "memory": plenty << 30, "pods": plenty}
		for name, q := range list {
			if has[string(name)], err = policies.Amount(string(name), q); err != nil {
				return nil, err
			}
		}
		for range count {
			add(row["flavor"], has)
		}
	}
	return all, nil
}

// observe keeps what the log does not say.
func (p *played) observe(m sim.Moment) {
	now := m.Input.Now
	p.states[now] = m.Plan.Queues
	p.estimates(&m)
	for _, w := range m.Plan.Waiting {
		p.said[moment(w.UID, now)] = w.Reason.Message
	}
	for _, s := range m.Plan.Suspend {
		if s.Preempted != nil {
			p.rights[moment(s.Job.UID, now)] = s.Preempted.Right
		}
	}
}
