package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

const twoQueues = `holdshort:
  config:
    flavors: {gpu: {}, old: {}}
    classes: {urgent: {priority: 1000}}
    queues:
      lab: {namespaces: {all: true}, flavors: [gpu, old], quota: {gpu: {nvidia.com/gpu: 8}, old: {nvidia.com/gpu: 4}}}
      research: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 4}}}
`

func compiled(t testing.TB, files map[string]string) *engine.Revision {
	t.Helper()
	bundle := engine.Bundle{Source: "test", Files: map[string][]byte{}}
	for name, text := range files {
		bundle.Files[name] = []byte(text)
	}
	revision, err := engine.Compile(context.Background(), bundle, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// waiting is a Job of a queue, as old judges it.
func waiting(t testing.TB, old *engine.Revision, name, queue, class string) Live {
	t.Helper()
	live := Live{Name: "a/" + name, Input: &policies.Input{
		Workload: &policies.Workload{
			UID: name, Name: name, Namespace: "a", Kind: "Job", Queue: queue, Annotations: map[string]string{},
			Labels:  map[string]string{policies.LabelQueue: queue, policies.LabelPriority: class},
			PodSets: []policies.PodSet{{Name: "main", Count: 2, Requests: map[string]int64{"nvidia.com/gpu": 1}}},
			Total:   map[string]int64{"nvidia.com/gpu": 2},
		},
		Namespace: &policies.Namespace{Name: "a"},
	}, RawJob: func() (map[string]any, error) { return map[string]any{"kind": "Job"}, nil }}
	verdict, err := old.Classify(context.Background(), live.Input)
	if err != nil {
		t.Fatal(err)
	}
	live.Verdict = verdict
	return live
}

func running(live Live, queue, flavor string, gpus int64) Live {
	live.Admitted, live.Queue = true, queue
	live.Holds = []Holding{{Resource: "nvidia.com/gpu", Amount: gpus, Flavors: map[string]string{"nvidia.com/gpu": flavor}}}
	return live
}

func TestAPreflightTellsWhatWouldChangeForTheJobsThatThereAre(t *testing.T) {
	old := compiled(t, map[string]string{"data.yaml": twoQueues})
	jobs := []Live{
		running(waiting(t, old, "r1", "lab", ""), "lab", "gpu", 6),
		running(waiting(t, old, "r2", "lab", ""), "lab", "old", 2),
		waiting(t, old, "w1", "research", ""),
		waiting(t, old, "w2", "lab", "urgent"),
	}
	for i := range jobs[2:] {
		waits := &jobs[2+i]
		waits.Hold = &policies.Input{Workload: waits.Input.Workload, NowNS: 9, Usage: &policies.Usage{Waiting: 1}, Capacity: map[string]policies.FlavorCapacity{}}
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  *v1alpha1.Preflight
	}{
		{"nothing, for the same rules", map[string]string{"data.yaml": twoQueues}, &v1alpha1.Preflight{Jobs: 4}},
		{"a queue is renamed", map[string]string{"data.yaml": strings.Replace(twoQueues, "research:", "science:", 1)},
			&v1alpha1.Preflight{Jobs: 4, HarmedPercent: 25, Changes: []v1alpha1.PreflightChange{
				{Kind: "UnknownQueue", Count: 1, Examples: []string{`a/w1: there is no queue "research" for namespace a`}}}}},
		{"a quota is lowered below what runs", map[string]string{"data.yaml": strings.Replace(twoQueues, "gpu: 8}", "gpu: 5}", 1)},
			&v1alpha1.Preflight{Jobs: 4, Changes: []v1alpha1.PreflightChange{
				{Kind: "OverQuota", Count: 1, Examples: []string{"lab: uses 6 of 5 nvidia.com/gpu on gpu"}}}}},
		{"a flavor is taken from a queue that runs on it",
			map[string]string{"data.yaml": strings.Replace(strings.Replace(twoQueues, "[gpu, old]", "[gpu]", 1), ", old: {nvidia.com/gpu: 4}", "", 1)},
			&v1alpha1.Preflight{Jobs: 4, Changes: []v1alpha1.PreflightChange{
				{Kind: "FlavorLost", Count: 1, Examples: []string{"a/r2: runs on old, which queue lab would not have"}},
				{Kind: "OverQuota", Count: 1, Examples: []string{"lab: uses 2 of 0 nvidia.com/gpu on old"}}}}},
		{"a class weighs less", map[string]string{"data.yaml": strings.Replace(twoQueues, "1000", "10", 1)},
			&v1alpha1.Preflight{Jobs: 4, Changes: []v1alpha1.PreflightChange{
				{Kind: "PriorityChanged", Count: 1, Examples: []string{"a/w2: from 1000 to 10"}}}}},
		{"a rule denies, what runs excepted", map[string]string{"data.yaml": twoQueues,
			"no.rego": "package holdshort.policy\n\ndeny contains {\"code\": \"a.example/No\", \"message\": \"no lab\"} if input.job.kind == \"Job\"\n"},
			&v1alpha1.Preflight{Jobs: 4, HarmedPercent: 50, Changes: []v1alpha1.PreflightChange{
				{Kind: "Denied", Count: 2, Examples: []string{"a/w1: a.example/No: no lab", "a/w2: a.example/No: no lab"}}}}},
		{"a rule fails for one", map[string]string{"data.yaml": twoQueues,
			"bad.rego": "package holdshort.policy\n\nclassify.queue := \"lab\" if {\n\tinput.workload.name == \"w1\"\n\tto_number(input.workload.name) > 1\n} else := input.workload.queue\n"},
			&v1alpha1.Preflight{Jobs: 4, HarmedPercent: 25, Changes: []v1alpha1.PreflightChange{
				{Kind: "Fails", Count: 1, Examples: []string{`a/w1: bad.rego:5: classify: to_number: strconv.ParseFloat: parsing "w1": invalid syntax`}}}}},
		{"a rule would hold, by what it is told of the moment", map[string]string{"data.yaml": twoQueues,
			"later.rego": "package holdshort.policy\n\nhold contains {\"code\": \"a.example/Later\", \"message\": \"later\"} if {\n\tinput.now_ns < 10\n\tinput.usage.waiting == 1\n\tinput.verdict.queue == \"lab\"\n}\n"},
			&v1alpha1.Preflight{Jobs: 4, Changes: []v1alpha1.PreflightChange{
				{Kind: "Held", Count: 1, Examples: []string{"a/w2: a.example/Later: later"}}}}},
		{"a rule that would hold fails for one", map[string]string{"data.yaml": twoQueues,
			"bad.rego": "package holdshort.policy\n\nhold contains {\"code\": \"a.example/Bad\", \"message\": \"x\"} if {\n\tinput.verdict.queue == \"lab\"\n\tto_number(input.workload.name) > 1\n}\n"},
			&v1alpha1.Preflight{Jobs: 4, HarmedPercent: 25, Changes: []v1alpha1.PreflightChange{
				{Kind: "Fails", Count: 1, Examples: []string{`a/w2: bad.rego:5: hold: to_number: strconv.ParseFloat: parsing "w2": invalid syntax`}}}}},
		{"cards are charged in slices, of which a queue has too few", map[string]string{"data.yaml": strings.ReplaceAll(twoQueues,
			"{nvidia.com/gpu:", "{slices:") + "    resources: {conversions: {nvidia.com/gpu: {slices: 2}}}\n"},
			&v1alpha1.Preflight{Jobs: 4, Changes: []v1alpha1.PreflightChange{
				{Kind: "OverQuota", Count: 1, Examples: []string{"lab: uses 12 of 8 slices on gpu"}}}}},
		{"a slip in what is converted", map[string]string{"data.yaml": strings.ReplaceAll(twoQueues,
			"{nvidia.com/gpu:", "{slices:") + "    resources: {conversions: {nvidia.com/gpus: {slices: 2}}}\n"},
			&v1alpha1.Preflight{Jobs: 4, HarmedPercent: 100, Changes: []v1alpha1.PreflightChange{
				{Kind: "UnknownResource", Count: 4, Examples: []string{
					"a/r1: no quota of queue lab has nvidia.com/gpu, or what it is converted to, nor have the lists of resources",
					"a/r2: no quota of queue lab has nvidia.com/gpu, or what it is converted to, nor have the lists of resources",
					"a/w1: no quota of queue research has nvidia.com/gpu, or what it is converted to, nor have the lists of resources",
					"a/w2: no quota of queue lab has nvidia.com/gpu, or what it is converted to, nor have the lists of resources"}}}}},
		{"Jobs move to another queue", map[string]string{"data.yaml": twoQueues,
			"move.rego": "package holdshort.policy\n\nclassify.queue := \"lab\"\n"},
			&v1alpha1.Preflight{Jobs: 4, Changes: []v1alpha1.PreflightChange{
				{Kind: "QueueChanged", Count: 1, Examples: []string{"a/w1: from research to lab"}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := preflight(t.Context(), jobs, old, compiled(t, c.files))
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestWhatWasWrongBeforeIsNotTheCandidates(t *testing.T) {
	old := compiled(t, map[string]string{"data.yaml": twoQueues})
	lost, denied := waiting(t, old, "lost", "nowhere", ""), waiting(t, old, "denied", "lab", "")
	denied.Denied = true
	candidate := compiled(t, map[string]string{"data.yaml": twoQueues,
		"no.rego": "package holdshort.policy\n\ndeny contains {\"code\": \"a.example/No\", \"message\": \"no\"} if input.workload.name == \"denied\"\n"})
	held := waiting(t, old, "held", "lab", "typo") // of a class that there is not
	held.Hold = &policies.Input{Workload: held.Input.Workload}
	got, err := preflight(t.Context(), []Live{lost, denied, held}, old, candidate)
	if diff := cmp.Diff(&v1alpha1.Preflight{Jobs: 3}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestACandidateThatHarmsTooManyJobsNeedsApprovalOrIsRefused(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active()
	jobs := []Live{waiting(t, first, "one", "research", ""), waiting(t, first, "two", "research", "")}
	s.Gates.Live = func(context.Context) ([]Live, error) { return jobs, nil }
	deny := []string{"no.rego", "package holdshort.policy\n\ndeny contains {\"code\": \"a.example/No\", \"message\": \"no\"} if input.workload.name == \"one\"\n"}

	s.quota(8, deny...)
	s.want(first.Digest(), v1alpha1.VerdictAwaitingApproval)
	if flight := statusOf(t, s.c).Candidate.Preflight; flight == nil || flight.HarmedPercent != 50 || flight.Changes[0].Count != 1 {
		t.Errorf("the pre-flight is shown as %+v, want half of two Jobs denied", flight)
	}
	s.Gates.Approval = ApprovalNever
	s.quota(9, deny...)
	s.want(first.Digest(), v1alpha1.VerdictRejected)
	s.Gates.Approval = ApprovalAuto
	next := s.quota(10, deny...)
	s.spec(v1alpha1.PolicyRolloutSpec{Approve: v1alpha1.Digest(next)})
	s.want(next, "")
}

func TestACandidateThatHarmedTooManyIsTriedAgainWhenTheyMayBeOver(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active()
	jobs := []Live{waiting(t, first, "one", "research", "")}
	s.Gates.Live = func(context.Context) ([]Live, error) { return jobs, nil }
	next := s.quota(8, "no.rego", "package holdshort.policy\n\ndeny contains {\"code\": \"a.example/No\", \"message\": \"no\"} if true\n")
	s.want(first.Digest(), v1alpha1.VerdictAwaitingApproval)
	jobs = nil
	s.step()
	s.want(first.Digest(), v1alpha1.VerdictAwaitingApproval)
	later := s.judgedAt.Add(judgeAgainAfter)
	s.Now = func() time.Time { return later }
	s.step()
	s.want(next, "")
}

func TestACandidateIsTriedAgainWhenTheJobsCouldNotBeLookedAt(t *testing.T) {
	s := newStage(t)
	first := s.Engine.Active().Digest()
	problem := errors.New("not yet")
	s.Gates.Live = func(context.Context) ([]Live, error) { return nil, problem }
	next := s.quota(8)
	s.want(first, v1alpha1.VerdictRejected)
	if !s.again {
		t.Error("nobody looks again")
	}
	problem = nil
	s.step()
	s.want(next, "")
}

func BenchmarkPreflightOf10000Jobs(b *testing.B) {
	old := compiled(b, map[string]string{"data.yaml": twoQueues})
	files := map[string]string{"data.yaml": twoQueues}
	for i := range 20 {
		files[fmt.Sprintf("rule%02d.rego", i)] = fmt.Sprintf(
			"package holdshort.policy\n\ndeny contains {\"code\": \"a.example/No%d\", \"message\": \"no\"} if {\n\tinput.workload.total[\"nvidia.com/gpu\"] > %d\n\tstartswith(input.workload.name, \"x\")\n}\n", i, i)
	}
	candidate := compiled(b, files)
	jobs := make([]Live, 10_000)
	for i := range jobs {
		jobs[i] = waiting(b, old, fmt.Sprintf("job-%d", i), "research", "urgent")
	}
	for b.Loop() {
		if _, err := preflight(b.Context(), jobs, old, candidate); err != nil {
			b.Fatal(err)
		}
	}
}

func TestACandidateWhoseMutateFailsHarmsTheJobsThatWaitAsTheirUsersWroteThem(t *testing.T) {
	old := compiled(t, map[string]string{"data.yaml": twoQueues})
	candidate := compiled(t, map[string]string{"data.yaml": twoQueues, "mutate.rego": "package holdshort.policy.mutate\n\n" +
		"labels[\"a\"] := \"b c\" if input.workload.labels.mine\n"})
	fine, odd, runs := waiting(t, old, "fine", "lab", ""), waiting(t, old, "odd", "lab", ""), waiting(t, old, "runs", "lab", "")
	runs.Input.Workload.Labels = map[string]string{"mine": "x"}
	asWritten(&fine, nil)
	asWritten(&odd, map[string]string{"mine": "x"})
	got, err := preflight(t.Context(), []Live{fine, odd, running(runs, "lab", "gpu", 2)}, old, candidate)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Changes) != 1 || got.Changes[0].Kind != changeFails || got.Changes[0].Count != 1 ||
		!strings.Contains(got.Changes[0].Examples[0], "a/odd: mutate.rego:3: ") {
		t.Errorf("got %+v, want that it fails for a/odd", got.Changes)
	}
}

// asWritten makes a Job that waits one whose user wrote other labels than it has.
func asWritten(live *Live, labels map[string]string) {
	with := func(labels map[string]string) *policies.Input {
		workload, raw := *live.Input.Workload, map[string]any{}
		workload.Labels = labels
		for key, value := range labels {
			raw[key] = value
		}
		return &policies.Input{Workload: &workload, Namespace: live.Input.Namespace,
			Job: map[string]any{"kind": "Job", "metadata": map[string]any{"labels": raw}}}
	}
	live.Given = func(m policies.Mutation, _ bool) (*policies.Input, error) {
		all := maps.Clone(labels)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, m.Labels)
		return with(all), nil
	}
}

// The policy in force labels each Job; what it wants goes when it does.
func TestACandidateIsAskedAboutWhatWaitsAsItWouldBeUnderTheCandidate(t *testing.T) {
	old := compiled(t, map[string]string{"data.yaml": twoQueues})
	const deny = "package holdshort.policy\n\ndeny contains {\"code\": \"a.example/No\", \"message\": \"no\"} if "
	const hold = "package holdshort.policy\n\nhold contains {\"code\": \"a.example/Later\", \"message\": \"later\"} if "
	const mutate = "package holdshort.policy.mutate\n\nlabels[\"by\"] := \"candidate\"\n"
	for _, c := range []struct {
		name string
		rego []string
		want []string // kinds
	}{
		{"what the policy in force gave is not there", []string{deny + "input.workload.labels.by == \"active\"\n"}, nil},
		{"nor in the raw object", []string{deny + "input.job.metadata.labels.by == \"active\"\n"}, nil},
		{"what its user wrote is", []string{deny + "input.workload.labels.mine\n"}, []string{changeDenied}},
		{"what the candidate gives is", []string{mutate, deny + "input.workload.labels.by == \"candidate\"\n"}, []string{changeDenied}},
		{"and in the raw object", []string{mutate, deny + "input.job.metadata.labels.by == \"candidate\"\n"}, []string{changeDenied}},
		{"classify reads it", []string{mutate, "package holdshort.policy\n\nclassify.priority := 7 if input.workload.labels.by == \"candidate\" else := 0\n"}, []string{changePriority}},
		{"hold reads it", []string{mutate, hold + "input.workload.labels.by == \"candidate\"\n"}, []string{changeHeld}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"data.yaml": twoQueues}
			for i, text := range c.rego {
				files[fmt.Sprintf("%d.rego", i)] = text
			}
			waits := waiting(t, old, "waits", "lab", "")
			waits.Input.Workload.Labels = map[string]string{"by": "active", "mine": "x"}
			waits.RawJob = func() (map[string]any, error) {
				return map[string]any{"metadata": map[string]any{"labels": map[string]any{"by": "active"}}}, nil
			}
			waits.Hold = &policies.Input{Workload: waits.Input.Workload}
			asWritten(&waits, map[string]string{"mine": "x"})
			got, err := preflight(t.Context(), []Live{waits}, old, compiled(t, files))
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, change := range got.Changes {
				kinds = append(kinds, change.Kind)
			}
			if diff := cmp.Diff(c.want, kinds); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestACandidateWithoutAnAnswerInTimeIsNotAskedAboutEverybody(t *testing.T) {
	old := compiled(t, map[string]string{"data.yaml": twoQueues})
	bundle := engine.Bundle{Source: "test", Files: map[string][]byte{"data.yaml": []byte(twoQueues), "slow.rego": []byte(
		"package holdshort.policy\n\ndeny contains {\"code\": \"t.x/Slow\", \"message\": \"m\"} if {\n\tcount(numbers.range(1, 100000000)) == input.workload.arrival_ns\n}\n")}}
	candidate, err := engine.Compile(t.Context(), bundle, engine.Options{Deadline: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []Live
	for i := range 1000 {
		jobs = append(jobs, waiting(t, old, fmt.Sprint("j", i), "lab", "urgent"))
		jobs[i].Input.Workload.ArrivalNS = int64(i) // else one answer is everybody's
	}
	_, err = preflight(t.Context(), jobs, old, candidate)
	if err == nil || !errors.As(err, new(slow)) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"about 20 of the first 20 Jobs", "deny", "Try: "} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}
