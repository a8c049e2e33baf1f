package kubelet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A pool in halves has the same devices as in one piece, and says how many slices
// it takes in each of them.
func TestAPoolInHalves(t *testing.T) {
	for name, c := range map[string]struct {
		devices  Devices
		perSlice int
		slices   int
	}{
		"cards in one":               {Devices{Cards: 5}, maxDevices, 1},
		"cards in halves":            {Devices{Cards: 5}, 3, 2},
		"cards that can be cut, too": {halves(2), 4, 3},
	} {
		t.Run(name, func(t *testing.T) {
			pool, err := c.devices.announce()
			if err != nil {
				t.Fatal(err)
			}
			pool.perSlice = c.perSlice
			all := pool.slices("n", "uid", 7)
			if len(all) != c.slices {
				t.Fatalf("%d slices, want %d", len(all), c.slices)
			}
			var got, want []string
			for _, slice := range all {
				if p := slice.Spec.Pool; p.Generation != 7 || p.ResourceSliceCount != int64(c.slices) || p.Name != "n" {
					t.Errorf("pool %+v of a slice", p)
				}
				for _, d := range slice.Spec.Devices {
					got = append(got, d.Name)
				}
			}
			for _, d := range pool.devices {
				want = append(want, d.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("devices (-want +got):\n%s", diff)
			}
		})
	}
}

// A lost card is announced no more, no pod starts with it, and who has it still
// has what he took of the card.
func TestALostDevice(t *testing.T) {
	devices := deviceTable(t, halves(1))
	if refused := devices.admit(testPod("a", 0), has("c1", "gpu-0")); refused != nil {
		t.Fatalf("the first pod was refused: %+v", refused)
	}
	devices.pool.lost["gpu-0"] = true
	for _, slice := range devices.pool.slices("n", "uid", 1) {
		for _, d := range slice.Spec.Devices {
			if d.Name == "gpu-0" {
				t.Error("gpu-0 is still announced")
			}
		}
	}
	if refused := devices.admit(testPod("b", 0), has("c2", "gpu-0-mig-0-0")); refused == nil {
		t.Error("half of a card is given that runs a pod as a whole")
	}
	devices.release("a")
	if refused := devices.admit(testPod("c", 0), has("c1", "gpu-0")); refused == nil {
		t.Error("a pod starts with a card that is not there")
	}
	if refused := devices.admit(testPod("d", 0), has("c2", "gpu-0-mig-0-0")); refused != nil {
		t.Errorf("a half of it is refused: %+v", refused)
	}
}
