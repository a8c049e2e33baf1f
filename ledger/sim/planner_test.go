package sim_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/sim"
)

// follower makes every plan of a run with one planner, as the loop does, and holds
// it against the plan that is made from nothing.
type follower struct {
	*decide.Planner
	verdicts map[string]decide.Outcome
	holds    map[string]decide.HoldAnswer
	busy     map[string]bool
	codes    map[string]reason.Code
}

// touched is the UIDs of which the two maps say something else.
func touched[V any](before, now map[string]V) []string {
	var uids []string
	for uid, v := range now {
		if old, had := before[uid]; !had || !reflect.DeepEqual(old, v) {
			uids = append(uids, uid)
		}
	}
	for uid := range before {
		if _, has := now[uid]; !has {
			uids = append(uids, uid)
		}
	}
	return uids
}

func (f *follower) plan(in decide.Input) decide.Result {
	in.Touched = slices.Concat(touched(f.verdicts, in.Verdicts), touched(f.holds, in.Holds), touched(f.busy, in.Busy))
	f.verdicts, f.holds, f.busy = maps.Clone(in.Verdicts), maps.Clone(in.Holds), maps.Clone(in.Busy)
	return f.Plan(in)
}

// all is a plan in full.
func (f *follower) all(r decide.Result) decide.Result {
	r.Waiting, r.Queues = f.Waiting(), f.Queues()
	return inAnyOrder(r)
}

// inAnyOrder is a plan without what a planner alone knows, and without the order in
// which it asks: whoever had a turn in vain before uses up no round any more, so that
// others are asked about a round earlier.
func inAnyOrder(r decide.Result) decide.Result {
	r.Changed, r.Stale, r.AskUsage = nil, nil, nil
	slices.Sort(r.Asks)
	return r
}

// told checks that everybody was told who waits for something new.
func (f *follower) told(t *rapid.T, r decide.Result) {
	codes := map[string]reason.Code{}
	for _, w := range f.Waiting() {
		codes[w.UID] = w.Reason.Code
		if brief, waits := f.Brief(w.UID); !waits || !alike(brief.Code, w.Reason.Code) {
			t.Fatalf("%s waits for %s, and its code alone is %q", w.UID, w.Reason.Code, brief.Code)
		}
		was := f.codes[w.UID]
		if was == w.Reason.Code || slices.Contains(r.Changed, w.UID) {
			continue
		}
		if !alike(was, w.Reason.Code) {
			t.Fatalf("%s waits for %s after %q, and is not told", w.UID, w.Reason.Code, was)
		}
	}
	f.codes = codes
}

// alike: which of the codes of machines it is may be told later.
func alike(a, b reason.Code) bool {
	return a == b || a != "" && reason.Of(a).Group == reason.GroupMachines && reason.Of(b).Group == reason.GroupMachines
}

// drawHold has a rule hold some Jobs until a moment, and others for good.
func drawHold(t *rapid.T, w *sim.World) {
	if rapid.Bool().Draw(t, "nobody is held") {
		return
	}
	till := map[string]int64{}
	for _, c := range w.Changes {
		if c.Arrive != nil {
			till[c.Arrive.UID] = start + pick[int64](t, "held until", 0, 0, 20, 50, 1<<20)*second
		}
	}
	w.Rules.Hold = func(q sim.Question) decide.HoldAnswer {
		if at := till[q.Workload.UID]; q.Now < at {
			return decide.HoldAnswer{Reason: &reason.Reason{Code: reason.HeldByPolicy, Message: "not yet", Until: at}}
		}
		return decide.HoldAnswer{}
	}
}

// TestSafetyMemory: a planner that remembers plans like one that knows nothing.
func TestSafetyMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &follower{Planner: decide.NewPlanner()}
		w := drawWorld(t, wanted{queues: 4, jobs: 14, outside: true, units: true})
		drawHold(t, &w)
		watched(t, w, func(m sim.Moment) {
			asking := m.Input
			asking.Holds = nil // before anybody was asked
			for _, in := range []decide.Input{asking, m.Input} {
				want := inAnyOrder(decide.Plan(in))
				got := f.plan(in)
				f.told(t, got)
				if got.WakeAt > in.Now && (want.WakeAt == 0 || got.WakeAt < want.WakeAt) {
					want.WakeAt = got.WakeAt // somebody asked once when a victim's time in peace is over: a plan more does no harm
				}
				if diff := cmp.Diff(want, f.all(got)); diff != "" {
					t.Fatalf("at %.3f, plan %d: from nothing (-) and from memory (+):\n%s", float64(in.Now-start)/1e9, m.Round, diff)
				}
			}
		})
	})
}
