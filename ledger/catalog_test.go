package ledger

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
)

const dynamicData = `holdshort:
  config:
    flavors: {gpu: {}}
    queues:
      research: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 2}}}
`

// minutes lets each minute of an hour have as many GPUs as its number, and fails
// in the seventh.
const minutes = `package holdshort.policy

catalog.queues := {"research": {"namespaces": {"all": true}, "flavors": ["gpu"], "quota": {"gpu": {"nvidia.com/gpu": minute}}}}

minute := m if {
	[_, m, _] := time.clock(input.now_ns)
	m != 7
}
`

const half = `package holdshort.policy

catalog.queues := {"research": {"namespaces": {"all": true}, "flavors": ["gpu"], "quota": {"gpu": {"nvidia.com/gpu": amount}}}}

amount := floor(input.capacity.gpu["nvidia.com/gpu"].allocatable / 2)
`

func (b *bench) quota() int64 {
	return b.Policy().Catalog().Queues["research"].Quota["gpu"]["nvidia.com/gpu"].Nominal
}

// said is the events about the catalog since the last call.
func (b *bench) said() []string {
	var all []string
	for recorder := b.Events.(*events.FakeRecorder); len(recorder.Events) > 0; {
		if event := <-recorder.Events; strings.Contains(event, "Catalog") {
			all = append(all, event)
		}
	}
	return all
}

func TestACatalogThatReadsTheTimeIsEvaluatedEachMinute(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": dynamicData, "minutes.rego": minutes})
	b.now = time.Date(2026, 3, 1, 12, 2, 50, 0, time.UTC)
	b.create("first", 2)
	b.create("second", 3)
	if next := b.round(t.Context()); next > 10*time.Second {
		t.Errorf("the next round is in %s, after the minute's end", next)
	}
	b.step()
	b.wantAdmitted(map[string]bool{"first": true, "second": false})
	for minute, want := range []int64{3: 3, 4: 4, 5: 5} {
		if want == 0 {
			continue
		}
		b.now = time.Date(2026, 3, 1, 12, minute, 1, 0, time.UTC)
		b.step()
		if got := b.quota(); got != want {
			t.Errorf("in minute %d the quota is %d, want %d", minute, got, want)
		}
	}
	b.wantAdmitted(map[string]bool{"first": true, "second": true})
}

func TestACatalogThatFailsKeepsTheLastGoodOneAndSaysSoOnce(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": dynamicData, "minutes.rego": minutes})
	b.now = time.Date(2026, 3, 1, 12, 6, 0, 0, time.UTC)
	b.create("runs", 4)
	b.step()
	b.wantAdmitted(map[string]bool{"runs": true})
	b.said()
	for range 3 {
		b.now = b.now.Add(time.Minute / 2)
		if b.now.Minute() == 7 {
			b.step()
		}
	}
	if said := b.said(); len(said) != 1 || !strings.Contains(said[0], "CatalogFailed") || !strings.Contains(said[0], "catalog.queues") {
		t.Errorf("said %q; want once that the catalog failed", said)
	}
	if got := b.quota(); got != 6 {
		t.Errorf("the quota is %d, want the 6 of the last good catalog", got)
	}
	b.create("next", 2)
	b.step()
	b.wantAdmitted(map[string]bool{"runs": true, "next": true})
	b.now = time.Date(2026, 3, 1, 12, 8, 0, 0, time.UTC)
	b.step()
	if said := strings.Join(b.said(), "\n"); !strings.Contains(said, "CatalogEvaluated") || b.quota() != 8 {
		t.Errorf("said %q, quota %d; want that it is well again, and 8", said, b.quota())
	}
}

func TestQuotasFollowMachinesThatCameOrWentForGood(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": dynamicData, "half.rego": half})
	machine := func(there bool) {
		n := node("n2", 8)
		if !there {
			n.Status.Conditions[0].Status = corev1.ConditionFalse
		}
		b.inbox.put(func(batch *batch) { batch.nodes["n2"] = n })
	}
	machine(true)
	b.create("runs", 8)
	b.step()
	b.wantAdmitted(map[string]bool{"runs": true})
	wait := func(d time.Duration) {
		for end := b.now.Add(d); b.now.Before(end); {
			b.now = b.now.Add(capacityEvery)
			b.step()
		}
	}
	for range 10 { // flapping
		machine(false)
		wait(capacityStands / 2)
		machine(true)
		wait(capacityEvery)
	}
	if got := b.quota(); got != 8 {
		t.Errorf("while a node flaps the quota is %d, want 8", got)
	}
	machine(false)
	wait(capacityStands + 2*capacityEvery)
	if got := b.quota(); got != 4 {
		t.Errorf("with the node gone for good the quota is %d, want 4", got)
	}
	b.wantAdmitted(map[string]bool{"runs": true})
}

func TestAnAmountMovesAsFarAsItWasAllTheTime(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	d := &damped{}
	var got []int64
	for i, amount := range []int64{10, 4, 6, 5, 6, 6, 6, 12, 6, 10, 3} {
		d.see(amount, start.Add(time.Duration(i)*capacityStands/3))
		got = append(got, d.stands)
	}
	if diff := cmp.Diff([]int64{10, 10, 10, 10, 6, 6, 6, 6, 6, 6, 6}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestALabelThatNoRuleReadsLeavesTheVerdictAlone(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy, "deny.rego": `package holdshort.policy

deny contains {"code": "team.example/No", "message": "no"} if input.workload.labels.bad
`})
	b.create("job", 1)
	held := "hold" // so that it stays in the queue
	change := func(labels map[string]string) {
		job, _ := b.get("job")
		for key, value := range labels {
			job.Labels[key] = value
		}
		job.Annotations = map[string]string{policies.AnnotationHold: held}
		if err := b.store.Update(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		b.watch("job")
		b.step()
	}
	change(nil)
	from := func() verdictSource { return b.jobs["uid-job"].verdictFrom }
	before := from()
	change(map[string]string{"other": "x"})
	if from() != before {
		t.Error("a label that nobody reads is a reason to ask again")
	}
	change(map[string]string{"bad": "x"})
	if from() == before {
		t.Error("the label that is read is no reason to ask again")
	}
}

func TestRulesThatNeverEndHoldTheJobsThatTheyAreAboutAndNobodyElseUp(t *testing.T) {
	b := newBench(t, map[string]string{
		"data.yaml": strings.Replace(loopPolicy, ": 4}", ": 8}", 1),
		"slow.rego": `package holdshort.policy

classify.priority := count(numbers.range(1, 1000000000)) if startswith(input.workload.name, "range")

else := count({[a, b, c] | some a in n; some b in n; some c in n}) if startswith(input.workload.name, "many")

else := 0

n := numbers.range(1, 1000)
`,
	})
	b.Now = time.Now // the budget is of real time
	b.since = time.Now()
	for _, name := range []string{"range-1", "many-1", "range-2", "many-2", "range-3", "many-3"} {
		b.create(name, 1)
	}
	b.create("fast", 1)
	started, rounds := time.Now(), 0
	for ; len(b.stale) > 0 || rounds == 0; rounds++ {
		before := time.Now()
		b.step()
		if took := time.Since(before); took > 10*time.Second {
			t.Errorf("a round took %s", took)
		}
	}
	if rounds == 1 || time.Since(started) > time.Minute {
		t.Errorf("judged in %d rounds and %s; want several, and soon", rounds, time.Since(started))
	}
	b.wantAdmitted(map[string]bool{"fast": true, "range-1": false, "many-1": false})
}
