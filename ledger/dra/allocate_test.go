package dra

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Node-2 has four cards; node-3 one card with counters, whole or as halves.
func TestHowOftenClaimsCanBeAllocated(t *testing.T) {
	cases := map[string]struct {
		node string
		spec resourceapi.ResourceClaimSpec
		want int64
	}{
		"four cards take four pods of one card":               {"node-2", claimOf(exactly("gpu", 1)), 4},
		"four cards take one pod of three":                    {"node-2", claimOf(exactly("gpu", 3)), 1},
		"a card that can be cut is one card":                  {"node-3", claimOf(exactly("gpu", 1)), 1},
		"a card's counters are enough for two of three parts": {"node-3", claimOf(exactly("mig", 1)), 2},
		"a node without parts takes none":                     {"node-2", claimOf(exactly("mig", 1)), 0},
		"all devices are taken at once":                       {"node-2", claimOf(all("gpu")), 1},
		"the second alternative is taken where the first can't be": {
			"node-3", claimOf(firstOf(sub("big", "gpu", 2), sub("small", "mig", 1))), 2,
		},
		"two requests of one claim take two devices":           {"node-2", claimOf(exactly("gpu", 1), named("b", exactly("gpu", 1))), 2},
		"with admin access devices are looked at, not used up": {"node-2", claimOf(admin(exactly("gpu", 1))), most},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := sampleAllocator().slots(sampleSite(c.node), claimsOf(c.spec), most)
			if err != nil || got != c.want {
				t.Fatalf("got %d slots, error %v; want %d", got, err, c.want)
			}
		})
	}
}

// What the scheduler gives up everywhere is an error that names its cause, not a
// node without devices.
func TestAClaimThatIsGivenUpIsAnError(t *testing.T) {
	cases := map[string]struct {
		spec resourceapi.ResourceClaimSpec
		want string
	}{
		"a class that is not there":                         {claimOf(exactly("none", 1)), `no DeviceClass "none"`},
		"a selector that reads what a device does not have": {claimOf(selecting(exactly("gpu", 1), `device.attributes["gpu.example.com"].size > 1`)), "size"},
		"a selector that can't be compiled":                 {claimOf(selecting(exactly("gpu", 1), `device.`)), "compile"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := sampleAllocator().slots(sampleSite("node-2"), claimsOf(c.spec), most)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// Sixteen cards of sixteen models and eight of one model: a search of C(16,8)
// combinations and more, which must end, and end alike on every machine.
func TestASearchThatTakesTooLongEnds(t *testing.T) {
	model := resourceapi.FullyQualifiedName("gpu.example.com/model")
	spec := claimOf(exactly("gpu", 12), named("b", exactly("gpu", 12)))
	spec.Devices.Constraints = []resourceapi.DeviceConstraint{{DistinctAttribute: &model}}
	s := sliceOf("wide", "node-9", "wide", 1, 1)
	for i := range 24 {
		d := card("gpu-"+string(rune('a'+i)), "gpu")
		d.Attributes["model"] = text(string(rune('a' + i%23)))
		s.Spec.Devices = append(s.Spec.Devices, d)
	}
	at := site{node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-9"}}, slices: []*resourceapi.ResourceSlice{s}, state: nothingInUse()}
	got, err := sampleAllocator().slots(at, claimsOf(spec), most)
	if err != nil || got != 0 {
		t.Fatalf("got %d, %v; want none and no error", got, err)
	}
}
