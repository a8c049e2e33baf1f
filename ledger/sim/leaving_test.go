package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/ledger/supply"
)

// TestSafetyNobodyGoesForWhatComesFree: while pods end of Jobs that were taken back for
// nobody, deleted or over, nobody is displaced who would not be if these pods were gone.
func TestSafetyNobodyGoesForWhatComesFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, wanted{queues: 4, jobs: 12, outside: true})
		w.Delays.Write, w.Delays.Grace = 0, 60*second
		for range rapid.IntRange(1, 6).Draw(t, "deletions") {
			w.Changes = append(w.Changes, sim.Change{
				At: start + rapid.Int64Range(5, 60).Draw(t, "deleted at")*second, Delete: fmt.Sprint("j", rapid.IntRange(0, 11).Draw(t, "deleted")),
			})
		}
		story := newStory(w)
		watched(t, w, func(m sim.Moment) {
			story.plan(m)
			then, going := gone(m)
			if !going {
				return
			}
			in := m.Input
			in.Snapshot = rebuilt(then, nil).Snapshot()
			plan := decide.Plan(in)
			for _, one := range displaced(m.Plan) {
				if !slices.Contains(displaced(plan), one) {
					t.Fatalf("%s, and would not if the pods were gone that are going\n%sif they were, %s", one, story, say(plan))
				}
			}
		})
	})
}

// gone is a moment without the Jobs, and their pods, that only pods are left of that go
// for nobody; false if there are none.
func gone(m sim.Moment) (then sim.Moment, found bool) {
	pods := map[string][]*supply.Pod{}
	for _, p := range m.Pods {
		pods[p.JobUID] = append(pods[p.JobUID], p)
	}
	for _, j := range m.Jobs {
		if j.Admitted() || j.Preempted != nil || !j.Suspended && !j.Finished {
			delete(pods, j.UID) // they stay, or go for somebody
		}
		if j.Suspended && j.Started && len(pods[j.UID]) > 0 {
			for i, p := range pods[j.UID] {
				told := *p
				told.Deleting, told.DeletingSince = true, m.Input.Now
				pods[j.UID][i] = &told
			}
		}
	}
	for uid, all := range pods {
		stays := func(p *supply.Pod) bool { return !p.Deleting || m.Input.Now-p.DeletingSince >= 600*second }
		if slices.ContainsFunc(all, stays) {
			delete(pods, uid)
		}
	}
	then = m
	then.Pods = slices.DeleteFunc(slices.Clone(m.Pods), func(p *supply.Pod) bool { return pods[p.JobUID] != nil })
	then.Jobs = nil
	for _, j := range m.Jobs {
		if pods[j.UID] == nil {
			then.Jobs = append(then.Jobs, j)
		}
	}
	return then, len(pods) > 0
}

// displaced is who makes room for whom.
func displaced(r decide.Result) []string {
	var all []string
	for _, s := range r.Suspend {
		if s.Preempted != nil {
			all = append(all, s.Job.UID+" makes room for "+s.Preempted.By)
		}
	}
	slices.Sort(all)
	return all
}

func say(r decide.Result) string {
	return "starts " + strings.Join(admitted(r), " ") + ", takes back " + strings.Join(evicted(r), " ")
}
