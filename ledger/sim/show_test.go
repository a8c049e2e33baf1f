package sim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
)

// show writes a world as a reader wants it who has to find out what went wrong.
func show(w sim.World) string {
	var b strings.Builder
	catalog(&b, w.Catalog)
	for _, c := range w.Changes {
		fmt.Fprintf(&b, "%8.3f ", float64(c.At-start)/1e9)
		switch {
		case c.Arrive != nil:
			j := c.Arrive
			fmt.Fprintf(&b, "arrives %s in %s priority %d runs %ds:", j.UID, j.Verdict.Queue, j.Verdict.Priority, j.Runs/second)
			for _, s := range j.PodSets {
				fmt.Fprintf(&b, " %d (at least %d) of %v", s.Count, s.MinCount, s.Requests)
			}
		case c.Delete != "":
			fmt.Fprintf(&b, "deleted %s", c.Delete)
		case c.Prioritize != nil:
			fmt.Fprintf(&b, "priority %v", *c.Prioritize)
		case c.Node != nil:
			fmt.Fprintf(&b, "node %s %v", c.Node.Name, c.Node.Allocatable)
		case c.NodeGone != "":
			fmt.Fprintf(&b, "node gone %s", c.NodeGone)
		case c.Catalog != nil:
			b.WriteString("policy\n")
			catalog(&b, c.Catalog)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "delays %+v seed %d\n", w.Delays, w.Seed)
	return b.String()
}

func catalog(b *strings.Builder, c *policies.Catalog) {
	for _, name := range slices.Sorted(maps.Keys(c.Queues)) {
		text, _ := json.Marshal(c.Queues[name])
		fmt.Fprintf(b, "queue %s %s\n", name, text)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Cohorts)) {
		text, _ := json.Marshal(c.Cohorts[name])
		fmt.Fprintf(b, "cohort %s %s\n", name, text)
	}
	fair, _ := json.Marshal(c.FairSharing)
	fmt.Fprintf(b, "fair %s; flavors", fair)
	for _, name := range slices.Sorted(maps.Keys(c.Flavors)) {
		fmt.Fprintf(b, " %s (verify %q)", name, c.Flavors[name].Verify)
	}
	b.WriteString("\n")
}

// story is a world and what was planned in it lately, for who reads a failure.
type story struct {
	world sim.World
	plans []sim.Moment
}

func newStory(w sim.World) *story { return &story{world: w} }

func (s *story) plan(m sim.Moment) {
	s.plans = append(s.plans, m)
	if len(s.plans) > 12 {
		s.plans = s.plans[1:]
	}
}

func (s *story) String() string {
	text := show(s.world)
	for _, m := range s.plans {
		text += plan(m)
	}
	return text
}

// plan writes what a plan does, and why who waits waits.
func plan(m sim.Moment) string {
	text := fmt.Sprintf("%8.3f plan %d: starts %s takes back %s\n", float64(m.Input.Now-start)/1e9, m.Round, admitted(m.Plan), evicted(m.Plan))
	for _, s := range m.Plan.Suspend {
		text += fmt.Sprintf("           %s: %s\n", s.Job.UID, s.Reason.Message)
	}
	for _, a := range m.Plan.Admit {
		text += fmt.Sprintf("           %s: %+v\n", a.Job.UID, a.Reservation.PodSets)
	}
	for _, w := range m.Plan.Waiting {
		text += fmt.Sprintf("           %s waits: %s: %s\n", w.UID, w.Reason.Code, w.Reason.Message)
	}
	return text
}
