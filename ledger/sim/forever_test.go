package sim_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
)

func gpus(queue, name string, priority, pods, least, each int64) *sim.Workload {
	return &sim.Workload{
		UID: name, Namespace: "team", Name: name, Verdict: policies.Verdict{Queue: queue, Priority: priority},
		PodSets: []demand.PodSet{{Name: "main", Count: pods, MinCount: least, Requests: resource.List{"nvidia.com/gpu": each}}},
	}
}

// TestNobodyDisplacesEachOtherForEver: a claim that borrows takes nothing from a queue
// that one of those whom it displaces would take back as its own. There are 7, of which
// 4 are owner's and 3 guest's, whose Jobs have it all when owner's comes.
func TestNobodyDisplacesEachOtherForEver(t *testing.T) {
	const (
		fair, classical = `"fairSharing": {"enabled": true},`, ""
		own             = `"cohort": "left", "quota": {"b": {"nvidia.com/gpu": {"nominal": 3}}}`
		ofCohort        = `"cohort": "guests", "quota": {"b": {"nvidia.com/gpu": {"nominal": 0}}}`
		ofOwners        = `"cohort": "owners", "quota": {"b": {"nvidia.com/gpu": {"nominal": 0}}}`
		owners          = `"cohorts": {"owners": {"parent": "left", "quota": {"b": {"nvidia.com/gpu": {"nominal": 4}}}}},`
		guests          = `"cohorts": {"guests": {"parent": "left", "quota": {"b": {"nvidia.com/gpu": {"nominal": 3}}}}},`
	)
	for name, c := range map[string]struct {
		sharing, owner, guest string // what the catalog says
		ownerHas, guestHas    string // "": own
		jobs                  []*sim.Workload
		goes, waits           string // who is taken back, in order, and who waits in the end
	}{
		"by shares, fewer pods start with what is theirs": {
			sharing: fair, owner: `{"reclaimWithinCohort": "Any"}`, guest: `{"reclaimWithinCohort": "LowerPriority"}`,
			jobs: []*sim.Workload{gpus("guest", "large", 1, 2, 0, 2), gpus("guest", "elastic", 3, 2, 1, 3), gpus("owner", "owns", 0, 3, 2, 2)},
			goes: "large", waits: "large",
		},
		"by shares, all pods wait": {
			sharing: fair, owner: `{"reclaimWithinCohort": "Any"}`, guest: `{"reclaimWithinCohort": "LowerPriority"}`,
			jobs:  []*sim.Workload{gpus("guest", "large", 1, 2, 0, 2), gpus("guest", "elastic", 3, 2, 1, 3), gpus("owner", "owns", 0, 3, 0, 2)},
			waits: "owns",
		},
		"by priority, who would take it back is not displaced": {
			sharing: classical, owner: `{"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}`, guest: `{"reclaimWithinCohort": "Any"}`,
			jobs:  []*sim.Workload{gpus("guest", "large", 3, 1, 0, 4), gpus("guest", "small", 1, 1, 0, 3), gpus("owner", "owns", 5, 3, 0, 2)},
			waits: "owns",
		},
		"by priority, what is guest's is its cohort's": {
			sharing: guests, owner: `{"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}`, guest: `{"reclaimWithinCohort": "Any"}`,
			guestHas: ofCohort,
			jobs:     []*sim.Workload{gpus("guest", "large", 3, 1, 0, 4), gpus("guest", "small", 1, 1, 0, 3), gpus("owner", "owns", 5, 3, 0, 2)},
			waits:    "owns",
		},
		"by priority, what is taken is the cohort's own": {
			sharing: owners, owner: `{"reclaimWithinCohort": "Any"}`, guest: `{"reclaimWithinCohort": "Any"}`, ownerHas: ofOwners,
			jobs: []*sim.Workload{gpus("guest", "elastic", 3, 7, 3, 1), gpus("owner", "owns", 0, 2, 0, 2)},
			goes: "elastic",
		},
		"by priority, who may not take it back is displaced": {
			sharing: classical, owner: `{"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}`, guest: `{"reclaimWithinCohort": "LowerPriority"}`,
			jobs: []*sim.Workload{gpus("guest", "large", 3, 1, 0, 4), gpus("guest", "small", 1, 1, 0, 3), gpus("owner", "owns", 5, 3, 0, 2)},
			goes: "small large", waits: "large small",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := sim.World{Catalog: &policies.Catalog{}, Until: start + 100*second}
			catalog := fmt.Sprintf(`{%s "flavors": {"b": {"verify": "none"}}, "queues": {
				"owner": {"namespaces": {"all": true}, "flavors": ["b"], %s, "preemption": %s},
				"guest": {"namespaces": {"all": true}, "flavors": ["b"], %s, "preemption": %s, "weight": 0}}}`,
				c.sharing, cmp.Or(c.ownerHas, strings.Replace(own, "3", "4", 1)), c.owner, cmp.Or(c.guestHas, own), c.guest)
			if err := json.Unmarshal([]byte(catalog), w.Catalog); err != nil {
				t.Fatal(err)
			}
			for i, j := range c.jobs {
				w.Changes = append(w.Changes, sim.Change{At: start + int64(i)*second, Arrive: j})
			}
			story := newStory(w)
			var goes, waits []string
			w.Observe = func(m sim.Moment) {
				story.plan(m)
				for _, s := range m.Plan.Suspend {
					goes = append(goes, s.Job.UID)
				}
				waits = nil
				for _, q := range m.Plan.Waiting {
					waits = append(waits, q.UID)
				}
			}
			w.Go = func() error {
				if len(goes) > 20 {
					return errors.New("there is no end")
				}
				return nil
			}
			if _, err := sim.Run(w); err != nil {
				t.Errorf("%v", err)
			}
			if got := strings.Join(goes, " "); got != c.goes {
				t.Errorf("taken back are %q, want %q\n%s", got, c.goes, story)
			}
			if got := strings.Join(waits, " "); got != c.waits {
				t.Errorf("in the end, %q wait, want %q\n%s", got, c.waits, story)
			}
		})
	}
}
