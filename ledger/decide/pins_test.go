package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// pinned has a Job mount a claim for a volume of a zone.
func pinned(claim, zone string) func(*demand.Job) {
	return func(j *demand.Job) {
		j.PodSets[0].Place.Pins = []demand.Pin{{Name: "volume claim " + claim, Is: "bound to a volume of zone=" + zone, Terms: []demand.NodeTerm{
			{Labels: []demand.NodeRequirement{{Key: "zone", Operator: "In", Values: []string{zone}}}},
		}}}
	}
}

// A gang that fits the cluster but not where its volume is waits for that, and says so by
// the name of its own claim.
func TestAGangWaitsForRoomWhereItsVolumeIs(t *testing.T) {
	w := newWorld(t)
	w.catalog.Queues["research"] = queue(100)
	w.node("a1", 8, labels("zone", "a"))
	w.node("b1", 8, labels("zone", "b"))
	w.pod("stranger", "a1", "", 6)
	w.job("full", 2, 4, pinned("x", "a"))
	w.job("alike", 2, 4, pinned("y", "a"))
	w.job("huge", 4, 4, pinned("z", "a"))
	w.job("there", 2, 4, pinned("x", "b"))
	r := w.plan()
	if diff := cmp.Diff([]string{"there"}, started(r)); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
	want := map[string]string{
		"full":  "WaitingForMachines: 8 nvidia.com/gpu asked, 2 free on the machines of gpu; volume claim x is bound to a volume of zone=a",
		"alike": "WaitingForMachines: 8 nvidia.com/gpu asked, 2 free on the machines of gpu; volume claim y is bound to a volume of zone=a",
		"huge": "NeverFits: 4 pods of 4 nvidia.com/gpu each asked; the machines of gpu (1 node, with 8 each at most) would have room for 2 if nothing ran; " +
			"volume claim z is bound to a volume of zone=a. It starts by itself if more or bigger ones come. Try: ask for less per pod, or fewer pods",
	}
	if diff := cmp.Diff(want, said(r)); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
}

// The flavors of other zones are none for it, and it takes the one where its volume is.
func TestAVolumeLeavesTheFlavorsOfItsZone(t *testing.T) {
	w := newWorld(t)
	w.catalog.Flavors = map[string]policies.Flavor{
		"a": {NodeLabels: map[string]string{"zone": "a"}}, "b": {NodeLabels: map[string]string{"zone": "b"}},
	}
	limit := map[string]policies.Limit{gpu: {Nominal: 8}}
	w.catalog.Queues["research"] = policies.Queue{
		Namespaces: policies.NamespaceRule{All: true}, Flavors: []string{"a", "b"}, Quota: map[string]map[string]policies.Limit{"a": limit, "b": limit},
	}
	w.node("a1", 8, labels("zone", "a"))
	w.node("b1", 8, labels("zone", "b"))
	w.job("there", 1, 8, pinned("x", "b"))
	w.job("nowhere", 1, 8, pinned("x", "c"))
	r := w.plan()
	if len(r.Admit) != 1 || r.Admit[0].Reservation.PodSets[0].Flavors[gpu] != "b" {
		t.Errorf("started %v, want there on b", r.Admit)
	}
	want := map[string]string{"nowhere": "NoMatchingFlavor: flavor a has zone=a, and one of the pods' claims is bound to a volume of zone=c; " +
		"flavor b has zone=b, and one of the pods' claims is bound to a volume of zone=c"}
	if diff := cmp.Diff(want, said(r)); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
}

// What pods need of a node is said where no node has it.
func TestAFeatureThatNoNodeDeclaresIsNamed(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.job("new", 1, 1, func(j *demand.Job) { j.PodSets[0].Place.Features = []string{"Fancy"} })
	want := map[string]string{"new": "NeverFits: no node of gpu may run its pods: does not declare the feature Fancy (1 node)" +
		"; its pods need nodes that declare Fancy. It starts by itself if such a node comes"}
	if diff := cmp.Diff(want, said(w.plan())); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
}
