package book_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

const third = "nvidia.com/mig-3g.40gb"

func slices7() policies.ResourceRules {
	return policies.ResourceRules{Conversions: map[string]map[string]int64{gpu: {"slices": 7}, third: {"slices": 3}}}
}

// admittedTo is a Job that runs so many pods with a reservation.
func admittedTo(uid string, count int64, requests resource.List, flavors map[string]string) *demand.Job {
	return &demand.Job{
		UID: uid, PodSets: []demand.PodSet{{Name: "main", Count: count, Requests: requests}},
		Reservation: &demand.Reservation{UID: uid, Queue: "q", Time: 1, PodSets: []demand.ReservedPodSet{{
			Name: "main", Count: count, Requests: requests, Flavors: flavors,
		}}},
	}
}

func chargedTo(flavor, name string) quota.Key {
	return quota.Key{Queue: "q", Flavor: flavor, Resource: name}
}

func TestWhatIsConvertedIsChargedInTheNewUnits(t *testing.T) {
	where := map[string]string{"pods": "cpus", gpu: "gpus", third: "gpus"}
	ask := resource.List{"pods": 1, gpu: 1, third: 2}
	for _, c := range []struct {
		name  string
		given func(*book.Book)
		want  map[quota.Key]int64
	}{
		{"pods of a Job that was admitted by another policy", func(b *book.Book) {
			b.SetJob(admittedTo("j", 2, ask, where))
		}, map[quota.Key]int64{chargedTo("gpus", "slices"): 26, chargedTo("cpus", "pods"): 2}},
		{"a Job with more than it was admitted with", func(b *book.Book) {
			b.SetJob(admittedTo("j", 1, resource.List{third: 1}, where))
			b.SetPod(&supply.Pod{UID: "p", JobUID: "j", Node: "n", Queue: "q", Flavors: where, Requests: resource.List{gpu: 1}})
		}, map[quota.Key]int64{chargedTo("gpus", "slices"): 7}},
		{"pods whose Job is gone", func(b *book.Book) {
			b.SetPod(&supply.Pod{UID: "p", Node: "n", Queue: "q", Flavors: where, Requests: resource.List{third: 2}})
		}, map[quota.Key]int64{chargedTo("gpus", "slices"): 6}},
		{"pods of a Job that is over, which are not seen", func(b *book.Book) {
			j := admittedTo("j", 1, ask, where)
			j.Finished, j.Terminating = true, 1
			b.SetJob(j)
		}, map[quota.Key]int64{chargedTo("gpus", "slices"): 13, chargedTo("cpus", "pods"): 1}},
		{"pods of a Job that was taken back, which are not seen", func(b *book.Book) {
			b.SetJob(admittedTo("j", 1, ask, where))
			j := admittedTo("j", 1, ask, where)
			j.Reservation, j.Suspended, j.Active = nil, true, 1
			b.SetJob(j)
		}, map[quota.Key]int64{chargedTo("gpus", "slices"): 13, chargedTo("cpus", "pods"): 1}},
		{"on a flavor that was written for the unit itself", func(b *book.Book) {
			b.SetJob(admittedTo("j", 1, resource.List{gpu: 1}, map[string]string{"pods": "cpus", gpu: "old", "slices": "new"}))
		}, map[quota.Key]int64{chargedTo("new", "slices"): 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := book.New(), book.New()
			before.SetRules(slices7())
			c.given(before)
			c.given(after)
			plain := after.Usage()
			after.SetRules(slices7())
			for when, b := range map[string]*book.Book{"before": before, "after": after} {
				if diff := cmp.Diff(c.want, b.Usage()); diff != "" {
					t.Errorf("the policy came %s (-want +got):\n%s", when, diff)
				}
				if err := b.SelfCheck(); err != nil {
					t.Error(err)
				}
			}
			after.SetRules(policies.ResourceRules{})
			if diff := cmp.Diff(plain, after.Usage()); diff != "" {
				t.Errorf("as before, once nothing is converted any more (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAJobThatWasNeverAdmittedIsChargedInUnits(t *testing.T) {
	b := book.New()
	j := admittedTo("j", 2, resource.List{gpu: 1}, nil)
	j.Reservation = nil
	b.SetJob(j)
	b.SetPod(&supply.Pod{UID: "p", JobUID: "j", Node: "n", Started: true, Requests: resource.List{third: 5}})
	b.SetRules(slices7())
	loose := b.Snapshot().Loose()
	if len(loose) != 1 {
		t.Fatalf("%d such Jobs, want one", len(loose))
	}
	if diff := cmp.Diff(resource.List{"slices": 15}, loose[0].Amount); diff != "" {
		t.Errorf("the larger of what it may have and what its pods have (-want +got):\n%s", diff)
	}
}

// TestConvertedChargesAreTheChargesConverted: what is charged in units is what would
// be charged without them, converted.
func TestConvertedChargesAreTheChargesConverted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := policies.ResourceRules{Conversions: map[string]map[string]int64{}}
		for i := range 3 {
			if rapid.Bool().Draw(t, "converts") {
				rules.Conversions[fmt.Sprint("x", i)] = map[string]int64{"unit": rapid.Int64Range(1, 9).Draw(t, "each")}
			}
		}
		raw, converted := book.New(), book.New()
		converted.SetRules(rules)
		for i := range rapid.IntRange(1, 4).Draw(t, "jobs") {
			requests := resource.List{}
			for k := range 3 {
				requests[fmt.Sprint("x", k)] = rapid.Int64Range(0, 5).Draw(t, "amount")
			}
			job := admittedTo(fmt.Sprint("j", i), rapid.Int64Range(1, 3).Draw(t, "pods"), requests, map[string]string{"pods": "f"})
			pod := &supply.Pod{UID: fmt.Sprint("p", i), JobUID: job.UID, Node: "n", Queue: "q", Flavors: map[string]string{"pods": "f"}, Requests: requests}
			for _, b := range []*book.Book{raw, converted} {
				b.SetJob(job)
				b.SetPod(pod)
			}
		}
		list := func(b *book.Book) resource.List {
			all := resource.List{}
			for key, n := range b.Usage() {
				all[key.Resource] = n
			}
			return all
		}
		want := resource.NewRates(rules.Conversions).Charged(list(raw))
		if diff := cmp.Diff(want, list(converted)); diff != "" {
			t.Fatalf("what is charged, converted (-) and charged in units (+):\n%s", diff)
		}
	})
}
