package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

const (
	cards = resource.DeviceSet + "gpu.example.com/1"
	big   = resource.DeviceSet + "big.example.com/2"
)

func asksDevices(name string, units int64) func(*demand.Job) {
	return func(j *demand.Job) { j.PodSets[0].Place.Devices = resource.List{name: units} }
}

func (w *world) devices(node string, total, freeCards, freeBig int64) {
	w.book.SetDevices(supply.Devices{Node: node, Rows: map[string]supply.Stock{
		cards: {Total: total, Free: freeCards}, big: {Total: total, Free: freeBig},
	}})
}

// A planner that remembers looks again whenever rows of devices change, and lets
// nobody go onto cards that another Job was promised under another name.
func TestJobsWaitForDevices(t *testing.T) {
	w := newWorld(t)
	planner := decide.NewPlanner()
	both := []supply.Cost{{Of: cards, From: big, Units: 1}, {Of: big, From: cards, Units: 1}}
	w.node("n1", 0)
	w.job("first", 1, 0, asksDevices(cards, 2))
	w.job("second", 1, 0, asksDevices(big, 7))
	steps := []struct {
		name    string
		happens func()
		starts  []string
	}{
		{"there are no devices yet", func() {}, nil},
		{"one card is free", func() { w.devices("n1", 8, 1, 1) }, nil},
		{"both could start, but not both", func() { w.book.SetCosts(both); w.devices("n1", 8, 8, 8) }, []string{"first"}},
		{"the first has its pod and its claim: six of eight are left", func() { w.pod("p", "n1", "first", 0); w.devices("n1", 8, 6, 6) }, nil},
		{"a claim of somebody else ends", func() { w.devices("n1", 8, 7, 7) }, []string{"second"}},
	}
	for _, s := range steps {
		s.happens()
		r := planner.Plan(w.all())
		if diff := cmp.Diff(append([]string{}, s.starts...), started(r)); diff != "" {
			t.Fatalf("%s: who starts (-want +got):\n%s", s.name, diff)
		}
		w.carryOut(r)
	}
}

// A class that no quota has is not misspelt: a claim for one that is not there can't be
// counted at all.
func TestAClassInNoQuotaIsNotTakenForAMisspeltName(t *testing.T) {
	const class = "deviceclass.resource.kubernetes.io/mig.example.com"
	w := newWorld(t)
	w.node("n1", 0)
	w.job("claims", 1, 0, asksDevices(cards, 1), func(j *demand.Job) {
		set := &j.PodSets[0]
		set.Requests[class], set.Place.Claimed = 1, resource.List{class: 1}
	})
	w.job("asks", 1, 0, func(j *demand.Job) { j.PodSets[0].Requests[class] = 1 })
	const unknown, give = "UnknownResource: " + class + ": not in a quota of research, nor listed under resources in the policy. Try: ",
		"have it given a quota (queues.research.quota of the policy), or listed under resources.unlimited"
	for range 2 {
		r := w.plan()
		want := map[string]string{"claims": unknown + give, "asks": unknown + "correct the name, since no node has it; or " + give}
		if w.in.Now > 0 { // the class is there by now
			want["asks"] = want["claims"]
		}
		if diff := cmp.Diff(want, said(r)); diff != "" {
			t.Errorf("said (-want +got):\n%s", diff)
		}
		w.in.Now = start
		w.book.SetExtended(map[string]string{class: cards})
	}
}

// What a Job waits for is named by its class, not by the name of a row.
func TestDevicesAreNamedByTheirClass(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 0)
	w.devices("n1", 8, 1, 1)
	w.job("train", 1, 0, asksDevices(cards, 2))
	want := map[string]string{
		"train": "WaitingForMachines: 2 devices of class gpu.example.com asked, 1 free on the machines of gpu",
	}
	if diff := cmp.Diff(want, said(w.plan())); diff != "" {
		t.Errorf("who waits and why (-want +got):\n%s", diff)
	}
}
