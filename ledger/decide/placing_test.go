package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// On n1 a Job runs with two of four cards, n2 is empty. A small one was let go to the
// gap on n1, and its pod has no node yet; then one comes that is more important, and wants
// all of a node.
func placingWorld(t *testing.T) *world {
	w := newWorld(t)
	q := queue(100)
	q.Preemption = policies.Preemption{WithinQueue: policies.VictimsLowerPriority}
	w.catalog.Queues["research"] = q
	w.node("n1", 4)
	w.node("n2", 4)
	w.carryOut(w.planOf(w.job("runs", 1, 2)))
	w.pod("runs", "n1", "runs", 2)
	w.in.Now = start + second
	w.carryOut(w.planOf(w.job("small", 1, 1)))
	w.job("whole", 1, 4)
	w.priority("whole", 10)
	return w
}

// One that is more important has room and quota as soon as it is known where the pod of
// the small one lands: nobody behind it takes the quota, to be taken back for it.
func TestNobodyIsLetGoBeforeAJobThatHasRoomOncePodsArePlaced(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*world)
		want  []string
	}{
		"who waits has a right to take others back": {func(*world) {}, nil},
		"nobody has such a right": {func(w *world) {
			q := w.catalog.Queues["research"]
			q.Preemption = policies.Preemption{}
			w.catalog.Queues["research"] = q
		}, []string{"later"}},
		"the pod is placed": {func(w *world) {
			w.raise(8)
			w.pod("small", "n1", "small", 1)
		}, []string{"whole"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := placingWorld(t)
			w.raise(7)
			w.node("n3", 2, labels("other", "yes"))
			w.job("later", 1, 1, selects("other", "yes"))
			c.given(w)
			r := w.plan()
			if got := started(r); len(got)+len(c.want) > 0 && !cmp.Equal(c.want, got) {
				t.Errorf("%v start, want %v", got, c.want)
			}
		})
	}
}

// raise the quota of the queue.
func (w *world) raise(gpus int64) {
	q := w.catalog.Queues["research"]
	q.Quota = queue(gpus).Quota
	w.catalog.Queues["research"] = q
}

func TestNobodyIsTakenBackForRoomThatIsThereOncePodsArePlaced(t *testing.T) {
	for _, c := range []struct {
		name   string
		given  func(*world)
		starts []string
		backs  []string
		wakes  bool
		says   string
	}{
		{name: "the small one may still land on n2", given: func(*world) {}, wakes: true,
			says: "WaitingForMachines: 4 nvidia.com/gpu asked, 6 free on the machines of gpu; waits until others are placed there (1 pod)"},
		{name: "it has landed on n1", given: func(w *world) { w.pod("small", "n1", "small", 1) }, starts: []string{"whole"}},
		{name: "it has landed on n2", given: func(w *world) { w.pod("small", "n2", "small", 1) }, backs: []string{"small"}},
		{name: "its pod has had no node for long", given: func(w *world) { w.in.Now = start + 7*second }, backs: []string{"small"}},
		{name: "what comes free meanwhile is not for others", given: func(w *world) { w.job("later", 1, 3) }, wakes: true,
			says: "WaitingForMachines: 4 nvidia.com/gpu asked, 6 free on the machines of gpu; waits until others are placed there (1 pod)"},
		{name: "it would borrow, and those who don't come before it", given: func(w *world) {
			q := w.catalog.Queues["research"]
			q.Quota, q.Cohort = queue(6).Quota, "all"
			q.Preemption.BorrowWithinCohort = policies.BorrowVictim{Policy: policies.VictimsLowerPriority}
			w.catalog.Queues["research"] = q
			q = queue(10)
			q.Cohort = "all"
			w.catalog.Queues["lends"] = q
		}, backs: []string{"small"}},
		{name: "a stranger may land on n2, too", given: func(w *world) {
			w.pod("stranger", "", "", 4, func(p *supply.Pod) { p.Created = w.in.Now })
		}, backs: []string{"small", "runs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := placingWorld(t)
			c.given(w)
			r := w.plan()
			var backs []string
			for _, s := range r.Suspend {
				backs = append(backs, s.Job.Name)
			}
			if diff := cmp.Diff(c.backs, backs); diff != "" {
				t.Errorf("taken back (-want +got):\n%s", diff)
			}
			if got := started(r); len(got)+len(c.starts) > 0 && !cmp.Equal(c.starts, got) {
				t.Errorf("%v start, want %v", got, c.starts)
			}
			if c.says != "" && said(r)["whole"] != c.says {
				t.Errorf("whole says %q, want %q", said(r)["whole"], c.says)
			}
			if c.wakes && r.WakeAt != start+6*second {
				t.Errorf("wakes at %d s, want 6", (r.WakeAt-start)/second)
			}
		})
	}
}
