package kubelet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// halves are cards that can be cut into two of three possible halves.
func halves(cards int) Devices {
	return Devices{Cards: cards, Parts: []Part{{Profile: "3g.40gb", Memory: "40Gi", Slices: 3, Places: 3}}}
}

func deviceTable(t interface{ Fatal(...any) }, devices Devices) *table {
	object, err := NodeSpec{Name: "n"}.object(metav1.NewTime(t0()))
	if err != nil {
		t.Fatal(err)
	}
	made := newTable(object)
	if made.pool, err = devices.announce(); err != nil {
		t.Fatal(err)
	}
	return made
}

func has(uid string, devices ...string) claim {
	c := claim{uid: types.UID(uid)}
	for _, name := range devices {
		c.devices = append(c.devices, deviceID{DeviceDriver, "n", name})
	}
	return c
}

func TestADeviceIsOneClaims(t *testing.T) {
	other := claim{uid: "c2", devices: []deviceID{{"other.example", "n", "gpu-0"}}}
	cases := []struct {
		name   string
		before []claim // each of a pod of its own
		asks   []claim
		want   string // message, empty if the pod starts
	}{
		{"a free card", nil, []claim{has("c1", "gpu-0")}, ""},
		{"a card of another claim", []claim{has("c1", "gpu-0")}, []claim{has("c2", "gpu-0")}, "device gpu-0 of pool n is in use by another claim"},
		{"the same card twice in one pod", nil, []claim{has("c1", "gpu-0"), has("c2", "gpu-0")}, "device gpu-0 of pool n is in use by another claim"},
		{"a claim that pods share", []claim{has("c1", "gpu-0")}, []claim{has("c1", "gpu-0")}, ""},
		{"a card there is not", nil, []claim{has("c1", "gpu-7")}, "the node has no device gpu-7 of pool n"},
		{"a card of a driver that the node was not told of", []claim{has("c1", "gpu-0")}, []claim{other}, ""},
		{"two halves", []claim{has("c1", "gpu-0-mig-0-0")}, []claim{has("c2", "gpu-0-mig-0-1")}, ""},
		{"a half of a card that is whole in use", []claim{has("c1", "gpu-0")}, []claim{has("c2", "gpu-0-mig-0-0")}, "counter memory of card-0 is used up"},
		{"a half of another card", []claim{has("c1", "gpu-0")}, []claim{has("c2", "gpu-1-mig-0-0")}, ""},
		{"a third half", []claim{has("c1", "gpu-0-mig-0-0"), has("c2", "gpu-0-mig-0-1")}, []claim{has("c3", "gpu-0-mig-0-2")}, "counter memory of card-0 is used up"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			devices := deviceTable(t, halves(2))
			for i, before := range c.before {
				if refused := devices.admit(testPod(string(rune('a'+i)), 0), before); refused != nil {
					t.Fatalf("pod %d was refused: %+v", i, refused)
				}
			}
			want, got := "", ""
			if refused := devices.admit(testPod("p", 0), c.asks...); refused != nil {
				got = refused.message
			}
			if c.want != "" {
				want = "Pod was rejected: preparing its devices: " + c.want
			}
			// Memory and slices of a card are used up together.
			if got == "Pod was rejected: preparing its devices: counter slices of card-0 is used up" {
				got = "Pod was rejected: preparing its devices: counter memory of card-0 is used up"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPodThatEndsGivesItsDevicesBack(t *testing.T) {
	devices := deviceTable(t, halves(1))
	if refused := devices.admit(testPod("a", 0), has("c1", "gpu-0")); refused != nil {
		t.Fatalf("the first pod was refused: %+v", refused)
	}
	devices.release("a")
	if refused := devices.admit(testPod("b", 0), has("c2", "gpu-0-mig-0-0")); refused != nil {
		t.Errorf("the second pod was refused: %+v", refused)
	}
}

// Whatever comes and goes, no card gives more than it has: whole, or two halves.
func TestNoCardGivesMoreThanItHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		devices := deviceTable(t, halves(2))
		names := []string{"gpu-0", "gpu-1", "gpu-0-mig-0-0", "gpu-0-mig-0-1", "gpu-0-mig-0-2", "gpu-1-mig-0-0"}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			uid := rapid.StringMatching("[a-f]").Draw(t, "pod")
			if _, held := devices.held[types.UID(uid)]; held {
				devices.release(types.UID(uid))
				continue
			}
			devices.admit(testPod(uid, 0), has("claim-"+uid, rapid.SampledFrom(names).Draw(t, "device")))
			whole, parts := 0, 0
			for id := range devices.taken() {
				switch id.name {
				case "gpu-0":
					whole++
				case "gpu-0-mig-0-0", "gpu-0-mig-0-1", "gpu-0-mig-0-2":
					parts++
				}
			}
			if 2*whole+parts > 2 {
				t.Fatalf("card 0 is in use %d times whole and %d times half", whole, parts)
			}
		}
	})
}

func TestWhatIsReadOfAClaim(t *testing.T) {
	yes, share := true, types.UID("s")
	allocated := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "c1"}, Status: resourcev1.ResourceClaimStatus{
		ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p"}},
		Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
			{Driver: DeviceDriver, Pool: "n", Device: "gpu-0"},
			{Driver: DeviceDriver, Pool: "n", Device: "gpu-1", AdminAccess: &yes},
			{Driver: DeviceDriver, Pool: "n", Device: "gpu-2", ShareID: &share},
		}}},
	}}
	got, err := reserves(allocated, testPod("p", 0))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(has("c1", "gpu-0"), got, cmp.AllowUnexported(claim{}, deviceID{})); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}
	if _, err := reserves(allocated, testPod("q", 0)); err == nil {
		t.Error("a claim that is reserved for another pod is read as this one's")
	}
	allocated.Status.Allocation = nil
	if _, err := reserves(allocated, testPod("p", 0)); err == nil {
		t.Error("a claim without devices is read as if it had some")
	}
}

func TestWhichClaimsAPodHas(t *testing.T) {
	name, made := "shared", "p-own-x"
	pod := testPod("p", 0)
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "a", ResourceClaimName: &name}, {Name: "b"}}
	if _, complete := claimNames(pod); complete {
		t.Error("a claim that is still to be made is not missed")
	}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "b", ResourceClaimName: &made}}
	pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "p-extended"}
	got, complete := claimNames(pod)
	if diff := cmp.Diff([]string{"shared", "p-own-x", "p-extended"}, got); diff != "" || !complete {
		t.Errorf("claims, complete %v (-want +got):\n%s", complete, diff)
	}
}

func TestNoDevicePluginIsAskedForWhatAClaimGave(t *testing.T) {
	pod := testPod("p", 2)
	devices := deviceTable(t, Devices{Cards: 2})
	if refused := devices.admit(pod); refused == nil {
		t.Fatal("a node without a device plugin took a pod that asks for its devices")
	}
	pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{
		ResourceClaimName: "p-extended",
		RequestMappings:   []corev1.ContainerExtendedResourceRequest{{ContainerName: "main", ResourceName: ResourceGPU, RequestName: "r"}},
	}
	if refused := devices.admit(pod, has("c1", "gpu-0", "gpu-1")); refused != nil {
		t.Errorf("the pod was refused: %+v", refused)
	}
}

// A pool of eight cards with parts is more than one slice may hold.
func TestSlicesKeepTheLimitsOfTheAPI(t *testing.T) {
	pool, err := halves(20).announce()
	if err != nil {
		t.Fatal(err)
	}
	all := pool.slices("n", "u", 3)
	sets, devices := 0, 0
	for _, slice := range all {
		if len(slice.Spec.SharedCounters) > maxCounterSets || len(slice.Spec.Devices) > maxDevices {
			t.Errorf("a slice has %d counter sets and %d devices", len(slice.Spec.SharedCounters), len(slice.Spec.Devices))
		}
		if want := (resourcev1.ResourcePool{Name: "n", Generation: 3, ResourceSliceCount: int64(len(all))}); slice.Spec.Pool != want {
			t.Errorf("pool %+v; want %+v", slice.Spec.Pool, want)
		}
		sets, devices = sets+len(slice.Spec.SharedCounters), devices+len(slice.Spec.Devices)
	}
	if sets != 20 || devices != 80 {
		t.Errorf("%d counter sets and %d devices; want 20 and 80", sets, devices)
	}
}
