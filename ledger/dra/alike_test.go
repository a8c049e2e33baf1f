package dra

import (
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/holdshort/holdshort/ledger/resource"
)

// What the scheduler gives a pod up for on every node, it is held back for, and told
// what it is.
func TestAProblemOfOneNodeIsOneOfAll(t *testing.T) {
	odd := func(s *sample) { s.SetSlice(sliceOf("odd", "node-3", "odd", 1, 1, resourceapi.Device{Name: "x"})) }
	cases := map[string]struct {
		event func(*sample)
		ask   resourceapi.ResourceClaimSpec
		want  string
	}{
		"a class that is not there": {func(*sample) {}, claimOf(exactly("none", 1)), `no DeviceClass "none"`},
		"a class that reads what one device of one node does not have": {
			func(s *sample) {
				odd(s)
				s.SetClass(class("loose", `device.attributes["gpu.example.com"].type == "gpu"`))
			},
			claimOf(exactly("loose", 1)), "selector 1 of DeviceClass loose fails on a device of driver gpu.example.com",
		},
		"all devices while a pool of another driver is incomplete": {
			func(s *sample) {
				l := sliceOf("half written", "node-3", "other", 1, 2)
				l.Spec.Driver = "other.example.com"
				s.SetSlice(l)
			},
			claimOf(all("gpu")), "currently being updated",
		},
		"all devices while nobody knows whose some are": {
			func(s *sample) { s.SetSlice(sliceOf("far", "node-2", "node-3", 1, 3)) },
			claimOf(all("gpu")), "can't be counted",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSample()
			row, _ := s.Want([]resourceapi.ResourceClaimSpec{c.ask})
			c.event(s)
			for _, devices := range s.Changed() {
				if free := devices.Rows[row].Free; free != 0 {
					t.Errorf("%s: %d are free", devices.Node, free)
				}
			}
			if got := s.Problem(row); !strings.Contains(got, c.want) {
				t.Fatalf("problem %q, want one with %q", got, c.want)
			}
		})
	}
}

// A problem that is over gives the rows of all nodes back, though nothing happened on
// most of them.
func TestAProblemThatIsOverGivesRowsBack(t *testing.T) {
	s := newSample()
	s.SetClass(class("loose", `device.attributes["gpu.example.com"].type == "gpu"`))
	s.SetSlice(sliceOf("odd", "node-3", "odd", 1, 1, resourceapi.Device{Name: "x"}))
	row, _ := s.Want([]resourceapi.ResourceClaimSpec{claimOf(exactly("loose", 1))})
	s.Changed()
	s.DeleteSlice("odd")
	got := s.Changed()
	if len(got) != 2 || got[0].Rows[row] != stock(4, 4) || got[1].Rows[row] != stock(1, 1) || s.Problem(row) != "" {
		t.Fatalf("rows %+v, problem %q", got, s.Problem(row))
	}
}

// Nodes that look the same to claims are counted once; these don't, though only the
// size of a part, the size of a card, or the model of one card is another.
func TestWhatLooksTheSameAndIsNot(t *testing.T) {
	model := resourceapi.FullyQualifiedName("gpu.example.com/model")
	alike := claimOf(exactly("gpu", 2))
	alike.Devices.Constraints = []resourceapi.DeviceConstraint{{MatchAttribute: &model}}
	pair := func(a, b string) []resourceapi.Device {
		list := []resourceapi.Device{card("0", "gpu"), card("1", "gpu")}
		list[0].Attributes["model"], list[1].Attributes["model"] = text(a), text(b)
		return list
	}
	cases := map[string]struct {
		ask       resourceapi.ResourceClaimSpec
		one, two  []resourceapi.Device
		card, too int64 // memory
		want      [2]int64
	}{
		"parts of another size": {
			claimOf(exactly("gpu", 1)), []resourceapi.Device{cut("0", "gpu", "c", 10), cut("1", "gpu", "c", 10)},
			[]resourceapi.Device{cut("0", "gpu", "c", 20), cut("1", "gpu", "c", 10)}, 20, 20, [2]int64{2, 1},
		},
		"cards of another size": {
			claimOf(exactly("gpu", 1)), []resourceapi.Device{cut("0", "gpu", "c", 10), cut("1", "gpu", "c", 10)},
			[]resourceapi.Device{cut("0", "gpu", "c", 10), cut("1", "gpu", "c", 10)}, 10, 20, [2]int64{1, 2},
		},
		"another model beside it": {alike, pair("a", "a"), pair("a", "b"), 1, 1, [2]int64{1, 0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := New()
			s.SetClass(class("gpu", ""))
			for node, devices := range map[string][]resourceapi.Device{"one": c.one, "two": c.two} {
				size := map[string]int64{"one": c.card, "two": c.too}[node]
				s.SetSlice(counters(node+"-c", node, node, 1, 2, map[string]int64{"c": size}, "c"))
				s.SetSlice(sliceOf(node+"-d", node, node, 1, 2, devices...))
				s.SetNode(node, nil)
			}
			row, _ := s.Want([]resourceapi.ResourceClaimSpec{c.ask})
			got := map[string]int64{}
			for _, devices := range s.Changed() {
				got[devices.Node] = devices.Rows[row].Free
			}
			if got["one"] != c.want[0] || got["two"] != c.want[1] {
				t.Fatalf("free: %v, want %v", got, c.want)
			}
		})
	}
}

// The scheduler tries pools with conditions to wait for last, and which device it takes
// first decides how many pods find two.
func TestPoolsWithConditionsAreTriedLast(t *testing.T) {
	s := New()
	s.SetClass(class("gpu", ""))
	for node, conditions := range map[string][]string{"one": nil, "two": {"attached"}} {
		for pool, model := range map[string]string{"first": "b", "last": "a"} {
			devices := []resourceapi.Device{card("0", "gpu"), card("1", "gpu")}
			for i := range devices {
				devices[i].Attributes["model"] = text(model)
				if pool == "first" {
					devices[i].BindingConditions = conditions
				}
			}
			s.SetSlice(sliceOf(node+pool, node, node+pool, 1, 1, devices...))
		}
		s.SetNode(node, nil)
	}
	b := selecting(exactly("gpu", 1), `device.attributes["gpu.example.com"].model == "b"`)
	row, _ := s.Want([]resourceapi.ResourceClaimSpec{claimOf(exactly("gpu", 1), named("b", b))})
	got := s.Changed()
	if len(got) != 2 || got[0].Rows[row].Free != 1 || got[1].Rows[row].Free != 2 {
		t.Fatalf("%+v, want one free and two", got)
	}
}

// A claim's name for its one request, and what it passes on to the driver, don't make
// another row of it; a count makes another amount of the same row.
func TestHowARowIsCalled(t *testing.T) {
	s := New()
	one, units := s.Want([]resourceapi.ResourceClaimSpec{claimOf(exactly("gpu", 1))})
	configured := claimOf(named("other", exactly("gpu", 3)))
	configured.Devices.Config = []resourceapi.DeviceClaimConfiguration{{Requests: []string{"other"}}}
	three, units3 := s.Want([]resourceapi.ResourceClaimSpec{configured})
	if one != three || units != 1 || units3 != 3 || !strings.HasPrefix(one, resource.DeviceSet) {
		t.Fatalf("%d of %s and %d of %s", units, one, units3, three)
	}
	kit, units := s.Want([]resourceapi.ResourceClaimSpec{claimOf(all("gpu"))})
	if units != 1 || !strings.HasPrefix(kit, resource.Kit) {
		t.Fatalf("%d of %s", units, kit)
	}
}
