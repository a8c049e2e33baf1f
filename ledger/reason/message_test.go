package reason_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/reason"
)

func TestLinesAreParted(t *testing.T) {
	for _, c := range []struct {
		name, line string
		code       reason.Code
		rest       string
	}{
		{"a code and a sentence", "WaitingForQuota: 4 of 4 used", reason.WaitingForQuota, "4 of 4 used"},
		{"a sentence with colons keeps them", "BadRequest: cpu: -1 is negative", reason.BadRequest, "cpu: -1 is negative"},
		{"a code alone", "BehindOthers:", reason.BehindOthers, ""},
		{"a text without a code is all sentence", " wait a little: it comes ", "", "wait a little: it comes"},
		{"an empty code is none", ": nothing", "", ": nothing"},
		{"a code ends in a colon", "Fragmented", "", "Fragmented"},
		{"no message is nothing", "", "", ""},
		{
			"what was written comes back",
			reason.Reason{Code: reason.HeldByPolicy, Message: "night only", RuleAt: "hold.rego:7"}.Line(),
			reason.HeldByPolicy, "night only (hold.rego:7)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if code, rest := reason.SplitLine(c.line); code != c.code || rest != c.rest {
				t.Errorf("%q is %q and %q, want %q and %q", c.line, code, rest, c.code, c.rest)
			}
		})
	}
}

func TestAMessageOfNoQuotaIsAboutItsRow(t *testing.T) {
	row := reason.Quota{Queue: "research", Flavor: "h100", Resource: "nvidia.com/gpu", Used: 4, Nominal: 4, Asked: 1}
	message := reason.NoQuota(row).Message
	later, other, next, sibling := row, row, row, row
	later.Used, other.Flavor, next.Resource, sibling.Queue = 0, "h10", "cpu", "search"
	for name, c := range map[string]struct {
		row  reason.Quota
		want bool
	}{
		"the same row":           {row, true},
		"the row with other use": {later, true},
		"another flavor":         {other, false},
		"another resource":       {next, false},
		"another queue":          {sibling, false},
	} {
		if got := c.row.About(message); got != c.want {
			t.Errorf("%s: %t, want %t: %s", name, got, c.want, message)
		}
	}
}

func TestOverQuotaSaysEachThingOnce(t *testing.T) {
	gpu := func(flavor string, nominal int64) reason.Quota {
		return reason.Quota{Queue: "q", Flavor: flavor, Resource: "gpu", Nominal: nominal, Asked: 4}
	}
	cpu := reason.Quota{Queue: "q", Flavor: "c", Resource: "cpu", Nominal: 1000, Asked: 2000}
	for _, c := range []struct {
		name string
		pods int64
		over []reason.Quota
		want string
	}{
		{"one flavor", 4, []reason.Quota{gpu("a", 2)}, "4 gpu asked; q may use at most 2 on a. Try: ask for less"},
		{"two that would do together", 4, []reason.Quota{gpu("a", 2), gpu("b", 3)},
			"4 gpu asked; q may use at most 2 on a, 3 on b; all pods of a Job go to one flavor. Try: ask for less, or make several Jobs of it"},
		{"one pod can't be spread anyway", 1, []reason.Quota{gpu("a", 2), gpu("b", 3)},
			"4 gpu asked; q may use at most 2 on a, 3 on b. Try: ask for less"},
		{"another resource on another flavor", 4, []reason.Quota{gpu("a", 1), cpu},
			"4 gpu asked; q may use at most 1 on a; 2 cpu asked; q may use at most 1 on c. Try: ask for less"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := reason.OverQuota(c.pods, c.over...).Message; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestJoinedSaysOnceWhatAllSay(t *testing.T) {
	got := reason.Joined([]reason.Reason{
		reason.NoSuchMachines(reason.Barred{}), reason.TooSmallMachines(reason.Empty{Flavor: "b", Pods: 2, Slots: 1, Nodes: 1, Single: true}),
		reason.TooSmallMachines(reason.Empty{Flavor: "c", Pods: 2, Slots: 1, Nodes: 1, Single: true}),
	})
	want := "there is no node; " +
		"2 pods asked; the machines of b (1 node) would have room for 1 if nothing ran; " +
		"2 pods asked; the machines of c (1 node) would have room for 1 if nothing ran. " +
		"It starts by itself if such a node comes. It starts by itself if more or bigger ones come. " +
		"Try: ask for less per pod, or fewer pods"
	if got.Message != want || got.Code != reason.NeverFits {
		t.Errorf("got  %s\nwant %s", got.Line(), want)
	}
}

func TestALineSaysUntilWhenARuleHoldsAndItCanBeReadBack(t *testing.T) {
	held := reason.Reason{Code: reason.HeldByPolicy, Message: "not until noon", RuleAt: "hold.rego:7", Until: 1_800_000_000_000_000_000}
	if got, want := held.Line(), "HeldByPolicy: not until noon (hold.rego:7) until 2027-01-15T08:00:00Z"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, rest := reason.SplitLine(held.Line())
	sentence, until := reason.SplitUntil(rest)
	if sentence != "not until noon (hold.rego:7)" || until.UnixNano() != held.Until {
		t.Errorf("read back as %q, %v", sentence, until)
	}
	if sentence, until := reason.SplitUntil("not until noon"); sentence != "not until noon" || !until.IsZero() {
		t.Errorf("without a moment: %q, %v", sentence, until)
	}
}

func TestAMessageOfNoQuotaNamesWhoBorrows(t *testing.T) {
	q := reason.Quota{Queue: "blue", Flavor: "gpu", Resource: "nvidia.com/gpu", Used: 1, Nominal: 4, Asked: 2, Left: 1}
	borrowers := []reason.Borrower{{Queue: "red", Amount: 5}, {Queue: "green", Amount: 3}, {Queue: "grey", Amount: 2}, {Queue: "x", Amount: 1}, {Queue: "y", Amount: 1}}
	for name, c := range map[string]struct {
		shared reason.Sharing
		says   string
	}{
		"a queue that shares with nobody":   {reason.Sharing{}, ""},
		"its own limit":                     {reason.Sharing{AtLimit: true}, " within its borrowingLimit"},
		"nobody borrows":                    {reason.Sharing{Cohort: "all"}, " in cohort all, where nobody else borrows"},
		"one borrows":                       {reason.Sharing{Cohort: "all", Borrowers: borrowers[:1]}, " in cohort all, where red borrows 5"},
		"two borrow":                        {reason.Sharing{Cohort: "all", Borrowers: borrowers[:2]}, " in cohort all, where red borrows 5 and green 3"},
		"more borrow than a sentence holds": {reason.Sharing{Cohort: "all", Borrowers: borrowers}, " in cohort all, where red borrows 5, green 3, grey 2 and 2 others the rest"},
	} {
		t.Run(name, func(t *testing.T) {
			q := q
			q.Shared = c.shared
			const before = "blue uses 1 of 4 nvidia.com/gpu on gpu; 2 asked, 1 left"
			if got := reason.NoQuota(q).Message; got != before+c.says {
				t.Errorf("%q; want %q", got, before+c.says)
			}
		})
	}
}
