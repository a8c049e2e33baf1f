package decide_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

func gpus(l policies.Limit) map[string]map[string]policies.Limit {
	return map[string]map[string]policies.Limit{"gpu": {gpu: l}}
}

func most(n int64) *int64 { return &n }

// Who lacks quota is told of the cohort whose room is the one that is missing, and
// who borrows there.
func TestAJobIsToldWhoHasTheRoom(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *policies.Catalog)
		fill   []string // Jobs of its own queue that run
		says   string
	}{
		"of its own cohort": {func(*policies.Catalog) {}, nil, "0 left in cohort all, where red borrows 4"},
		"its own borrowingLimit": {func(c *policies.Catalog) {
			c.Cohorts = map[string]policies.Cohort{"all": {Quota: gpus(policies.Limit{Nominal: 100})}}
			q := c.Queues["blue"]
			q.Quota = gpus(policies.Limit{Nominal: 0, BorrowingLimit: most(4)})
			c.Queues["blue"] = q
		}, []string{"a"}, "0 left within its borrowingLimit"},
		"of the cohort above": {func(c *policies.Catalog) {
			c.Cohorts = map[string]policies.Cohort{"below": {Parent: "all"}}
			q := c.Queues["blue"]
			q.Cohort = "below"
			c.Queues["blue"] = q
		}, nil, "0 left in cohort all, where red borrows 4"},
		"of a cohort at its own limit": {func(c *policies.Catalog) {
			c.Cohorts = map[string]policies.Cohort{"all": {Parent: "top", Quota: gpus(policies.Limit{BorrowingLimit: most(0)})},
				"top": {Quota: gpus(policies.Limit{Nominal: 100})}}
		}, nil, "0 left in cohort all, where red borrows 4"},
	} {
		t.Run(name, func(t *testing.T) {
			w := shared(t, func(q *policies.Queue) { q.Preemption = policies.Preemption{} })
			c.change(w.catalog)
			w.node("n3", 100)
			w.runs(w.job("lent", 1, 8, in("red")), "n3")
			for _, name := range c.fill {
				w.runs(w.job(name, 1, 4, in("blue")), "n3")
			}
			w.job("b", 1, 1, in("blue"))
			if got := said(w.plan())["b"]; !strings.HasSuffix(got, c.says) {
				t.Errorf("%q; want … %q", got, c.says)
			}
		})
	}
}

// The name of a Job is told to those of its namespace only.
func TestNobodyIsToldANameOfAnotherNamespace(t *testing.T) {
	elsewhere := func(j *demand.Job) { j.Namespace = "them" }
	t.Run("behind it", func(t *testing.T) {
		w := shared(t, func(q *policies.Queue) { q.Cohort, q.Strategy = "", policies.StrictFIFO })
		w.job("runs", 1, 3, in("red"))
		w.job("secret", 1, 2, in("red"))
		w.job("near", 1, 1, in("red"))
		w.job("far", 1, 1, in("red"), elsewhere)
		got := said(w.plan())
		if !strings.Contains(got["near"], "/secret is before it") {
			t.Errorf("of the same namespace: %s", got["near"])
		}
		if want := "red is strict about order, and a Job of queue red is before it"; strings.Contains(got["far"], "secret") || !strings.Contains(got["far"], want) {
			t.Errorf("of another: %s", got["far"])
		}
	})
	t.Run("taken back for it", func(t *testing.T) {
		w := shared(t)
		victim := w.ranked(w.job("victim", 4, 1, in("red"), elsewhere), 0)
		w.runs(victim, "n1")
		w.ranked(w.job("secret", 4, 1, in("red")), 5)
		w.catalog.Queues["blue"] = queue(0)
		r := w.plan()
		if len(r.Suspend) != 1 {
			t.Fatalf("%d Jobs are taken back, want the victim: %v", len(r.Suspend), said(r))
		}
		if got := r.Suspend[0].Reason.Message; got != "it makes room for a Job of queue red (InQueue)" {
			t.Error(got)
		}
	})
}

// What a strict queue has left of its own waits for its head, which can't take the
// rest back; who would fit there is told so, and not that its turn comes in a moment.
func TestWhoIsKeptOutForAnOwnerIsToldSo(t *testing.T) {
	w := shared(t, func(q *policies.Queue) { q.Preemption, q.Strategy = policies.Preemption{}, policies.StrictFIFO })
	w.node("n3", 100)
	w.catalog.Cohorts = map[string]policies.Cohort{"all": {Quota: gpus(policies.Limit{Nominal: 2})}}
	w.catalog.Queues["red"] = queue(0)
	red := w.catalog.Queues["red"]
	red.Cohort = "all"
	w.catalog.Queues["red"] = red
	w.runs(w.job("own", 1, 2, in("blue")), "n1")
	w.runs(w.job("borrows", 1, 2, in("red")), "n2")
	w.job("head", 1, 4, in("blue"))
	w.job("more", 1, 2, in("red"))
	r := w.plan()
	if len(r.Admit) > 0 {
		t.Errorf("%v start", started(r))
	}
	const want = "BehindOthers: what is left in its cohort is kept for the first Job of queue blue, which waits for more of it"
	if got := said(r)["more"]; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

// A queue whose quota was lowered below its use has less than nothing to keep for its
// head: the room of the others stays what it is.
func TestALoweredQueueKeepsNothingOfTheOthers(t *testing.T) {
	w := shared(t, func(q *policies.Queue) {
		q.Preemption = policies.Preemption{ReclaimWithinCohort: policies.VictimsLowerPriority}
	})
	w.catalog.Cohorts = map[string]policies.Cohort{"all": {Parent: "top", Quota: gpus(policies.Limit{Nominal: 10})}, "top": {}}
	w.node("n3", 100)
	w.runs(w.job("before", 1, 4, in("blue")), "n3")
	q := w.catalog.Queues["blue"]
	q.Quota = gpus(policies.Limit{Nominal: 0, BorrowingLimit: most(1)})
	w.catalog.Queues["blue"] = q
	want := queueOf(w.plan(), "red").Rows
	w.job("head", 1, 1, in("blue"))
	if diff := cmp.Diff(want, queueOf(w.plan(), "red").Rows); diff != "" {
		t.Errorf("red's room with a Job waiting in blue (-without +with):\n%s", diff)
	}
}
