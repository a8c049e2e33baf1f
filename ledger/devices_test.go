package ledger

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// claimBench is a loop that sees node n1 with so many cards by claims.
type claimBench struct{ *bench }

func newClaimBench(t *testing.T, cards int) claimBench {
	t.Helper()
	b := claimBench{newBench(t, map[string]string{"data.yaml": loopPolicy})}
	b.DRA = DRA{Claims: true, Rules: true}
	b.inbox.put(func(batch *batch) {
		batch.nodes["n1"] = node("n1", 0)
		batch.devices.classes["gpu"] = parsed[resourceapi.DeviceClass](t, `
metadata: {name: gpu}
spec: {extendedResourceName: nvidia.com/gpu, selectors: [{cel: {expression: device.driver == "d"}}]}`)
	})
	b.template("one", "{requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}")
	b.slice(cards)
	return b
}

func parsed[T any](t testing.TB, text string) *T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return &object
}

func (b claimBench) template(name, devices string) {
	template := parsed[resourceapi.ResourceClaimTemplate](b.t, fmt.Sprintf("{metadata: {name: %s, namespace: a}, spec: {spec: {devices: %s}}}", name, devices))
	b.markTemplate(template, false)
}

func (b claimBench) slice(cards int) {
	slice := parsed[resourceapi.ResourceSlice](b.t, "{metadata: {name: s}, spec: {driver: d, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}}}")
	for i := range cards {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: fmt.Sprintf("card-%d", i)})
	}
	b.inbox.put(func(batch *batch) { batch.devices.slices["s"] = slice })
}

// claim of a name, that has these cards.
func (b claimBench) claim(name, owner string, cards ...int) *resourceapi.ResourceClaim {
	claim := parsed[resourceapi.ResourceClaim](b.t, fmt.Sprintf(
		"{metadata: {name: %[1]s, namespace: a, uid: uid-%[1]s}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}}", name))
	if owner != "" {
		claim.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(owner)}}
	}
	if len(cards) > 0 {
		at := parsed[resourceapi.AllocationResult](b.t, "{nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}")
		for _, i := range cards {
			at.Devices.Results = append(at.Devices.Results, resourceapi.DeviceRequestAllocationResult{
				Request: "r", Driver: "d", Pool: "n1", Device: fmt.Sprintf("card-%d", i),
			})
		}
		claim.Status.Allocation = at
	}
	b.markClaim(claim, false)
	return claim
}

// job of one pod that has a claim.
func (b claimBench) job(name, claim string) {
	b.t.Helper()
	b.jobOf(name, "{containers: [{name: main}], resourceClaims: ["+claim+"]}")
}

func (b *bench) says(name string, parts ...string) {
	b.t.Helper()
	b.step()
	b.now = b.now.Add(explainAfter)
	b.step()
	job, _ := b.get(name)
	for _, part := range parts {
		if message := job.Annotations[policies.AnnotationMessage]; !strings.Contains(message, part) {
			b.t.Errorf("%s says %q, want %q", name, message, part)
		}
	}
}

func (b claimBench) usage() int64 {
	total := int64(0)
	for key, n := range b.book.Usage() {
		if key.Resource == "nvidia.com/gpu" {
			total += n
		}
	}
	return total
}

const byOne = "{name: c, resourceClaimTemplateName: one}"

func TestWhatIsMissingOfClaimsWakesWhoWaitsForIt(t *testing.T) {
	b := newClaimBench(t, 1)
	b.job("by-template", "{name: c, resourceClaimTemplateName: late}")
	b.job("by-name", "{name: c, resourceClaimName: late}")
	b.job("by-class", "{name: c, resourceClaimTemplateName: odd}")
	b.says("by-class", "MissingObject", "ResourceClaimTemplate odd not found in namespace a")
	b.template("odd", "{requests: [{name: r, exactly: {deviceClassName: late, allocationMode: ExactCount, count: 1}}]}")
	b.says("by-template", "MissingObject", "ResourceClaimTemplate late not found in namespace a")
	b.says("by-name", "MissingObject", "ResourceClaim late not found in namespace a")
	b.says("by-class", "MissingObject", "DeviceClass late not found")

	b.template("late", "{requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}")
	b.step()
	b.step()
	b.wantAdmitted(map[string]bool{"by-template": true, "by-name": false, "by-class": false})
	b.slice(3)
	b.claim("late", "")
	b.inbox.put(func(batch *batch) {
		batch.devices.classes["late"] = parsed[resourceapi.DeviceClass](t, `{metadata: {name: late}, spec: {extendedResourceName: nvidia.com/gpu}}`)
	})
	b.step()
	b.step()
	b.wantAdmitted(map[string]bool{"by-name": true, "by-class": true})
	if got := b.usage(); got != 3 {
		t.Errorf("%d cards are charged, want 3", got)
	}
}

// Nobody needs to be a pod of ours to hold a device, and it is held until it is given back.
func TestDevicesAreHeldUntilTheirClaimsLetThemGo(t *testing.T) {
	b := newClaimBench(t, 2)
	mine := b.claim("stranger", "", 0)
	b.claim("other", "", 1)
	b.job("waits", byOne)
	b.step()
	b.says("waits", "WaitingForMachines", "devices of class gpu")
	b.markClaim(mine, true)
	b.step()
	b.wantAdmitted(map[string]bool{"waits": true})
	if n := len(b.devices.claims); n != 1 {
		t.Errorf("%d claims are known, want 1", n)
	}
}

func TestAnExpressionThatFailsIsNamed(t *testing.T) {
	b := newClaimBench(t, 1)
	b.template("odd", `{requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1, selectors: [{cel: {expression: 'device.attributes["d"].size > 1'}}]}}]}`)
	b.job("odd", "{name: c, resourceClaimTemplateName: odd}")
	b.step()
	b.step()
	b.says("odd", "BadRequest", "selector 1 of the claim fails on a device of driver d")
	b.inbox.put(func(batch *batch) { batch.devices.slices["s"] = nil }) // nothing to fail on
	b.step()
	b.step()
	b.says("odd", "NeverFits")
}

// The charge of pods whose Job is gone goes by their claims.
func TestPodsWithClaimsAreChargedToTheirQueue(t *testing.T) {
	b := newClaimBench(t, 2)
	pod := parsed[corev1.Pod](t, `
metadata: {name: p, namespace: a, uid: uid-p, labels: {holdshort.dev/queue: research}, annotations: {holdshort.dev/flavors: '{"pods":"gpu"}'}}
spec: {nodeName: n1, containers: [{name: main}], resourceClaims: [{name: c, resourceClaimTemplateName: gone}]}
status: {startTime: "2026-01-01T00:00:00Z", resourceClaimStatuses: [{name: c, resourceClaimName: made}]}`)
	b.markPod(pod, false)
	b.step()
	if got := b.usage(); got != 0 {
		t.Errorf("%d cards are charged before anybody knows the claim", got)
	}
	claim := b.claim("made", "uid-p", 0)
	b.step()
	if got := b.usage(); got != 1 {
		t.Errorf("%d cards are charged, want 1", got)
	}
	// Deleted by force: the pod walks on as a ghost, and its device is nobody's yet. Nor is
	// the other one: which of them comes first is up to the scheduler, who knows no ghosts.
	b.job("first", byOne)
	b.job("second", byOne)
	b.markPod(pod, true)
	b.markClaim(claim, true)
	b.step()
	b.wantAdmitted(map[string]bool{"first": false, "second": false})
	b.now = b.now.Add(ghostStands)
	b.step()
	b.wantAdmitted(map[string]bool{"first": true, "second": true})
	for name, left := range map[string]int{"pods": len(b.devices.pods), "who names a claim": len(b.devices.named)} {
		if left != 0 {
			t.Errorf("%s: %d are left", name, left)
		}
	}
}

// What a ghost had mounted is free: only its devices are not.
func TestAGhostHasNoVolumes(t *testing.T) {
	b := newClaimBench(t, 2)
	b.volumeClaim("d", "ReadWriteOncePod")
	b.volume("d", "n1")
	const mounted = "volumes: [{name: data, persistentVolumeClaim: {claimName: d}}], containers: [{name: main}]"
	pod := parsed[corev1.Pod](t, `
metadata: {name: p, namespace: a, uid: uid-p}
spec: {nodeName: n1, resourceClaims: [{name: c, resourceClaimTemplateName: one}], `+mounted+`}
status: {startTime: "2026-01-01T00:00:00Z", resourceClaimStatuses: [{name: c, resourceClaimName: made}]}`)
	b.markPod(pod, false)
	claim := b.claim("made", "uid-p", 0)
	b.jobOf("waits", "{resourceClaims: ["+byOne+"], "+mounted+"}")
	b.says("waits", "in use by pod a/p")
	b.markPod(pod, true)
	b.markClaim(claim, true) // for that the ghost is read again
	b.says("waits", "WaitingForMachines")
	b.now = b.now.Add(ghostStands)
	b.step()
	b.wantAdmitted(map[string]bool{"waits": true})
}

// Two Jobs have one claim: where the first one's pod goes, the second one's has to go, too.
func TestAClaimThatIsNotAllocatedHasOneJob(t *testing.T) {
	b := newClaimBench(t, 2)
	b.claim("common", "")
	b.job("first", "{name: c, resourceClaimName: common}")
	b.step()
	b.now = b.now.Add(1)
	b.job("second", "{name: c, resourceClaimName: common}")
	b.job("third", "{name: c, resourceClaimName: common}")
	b.says("second", "BehindOthers", "its pods share ResourceClaim common with those of a/first, which has it allocated first")
	b.wantAdmitted(map[string]bool{"first": true, "second": false, "third": false})

	first, _ := b.get("first") // over, and its pod was never there
	first.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	b.markJob(first, false)
	b.step()
	b.step()
	if admitted := b.admitted("second"); admitted == b.admitted("third") {
		t.Fatalf("second and third are both admitted: %v", admitted)
	}
	b.claim("common", "", 0)
	b.step()
	b.step()
	b.wantAdmitted(map[string]bool{"second": true, "third": true})
	if got := b.usage(); got != 1 {
		t.Errorf("%d cards are charged, want 1", got)
	}
}

// All that is kept of who asks for devices goes with them.
func TestNothingIsKeptOfThoseWhoAreGone(t *testing.T) {
	b := newClaimBench(t, 1)
	b.template("all", "{requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: All}}]}")
	b.job("all", "{name: c, resourceClaimTemplateName: all}")
	b.job("named", "{name: c, resourceClaimName: x}")
	b.claim("x", "")
	b.step()
	for _, name := range []string{"all", "named"} {
		job, _ := b.get(name)
		if err := b.store.Delete(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		b.watch(name)
	}
	b.step()
	d := &b.devices
	if n := len(d.rows) + len(d.counted) + len(d.readers) + len(d.named) + len(d.all) + len(d.again) + len(d.problems); n != 0 {
		t.Errorf("%d things are left: %v %v %v %v %v %v %v", n, d.rows, d.counted, d.readers, d.named, d.all, d.again, d.problems)
	}
}

func TestWhereTheServerHasNoClaimsNobodyStartsByOne(t *testing.T) {
	b := newClaimBench(t, 1)
	b.DRA = DRA{}
	b.job("waits", byOne)
	b.step()
	b.says("waits", "BadRequest", "does not serve resource.k8s.io/v1")
}

// Containers ask for nvidia.com/gpu, and the node gives its devices for that.
func TestExtendedResourcesAreGivenOutOfDevices(t *testing.T) {
	b := newClaimBench(t, 2)
	b.create("three", 3)
	b.create("two", 2)
	b.says("three", "NeverFits")
	b.wantAdmitted(map[string]bool{"two": true})
	one, _ := b.get("two")
	for i := range 2 {
		pod := parsed[corev1.Pod](t, fmt.Sprintf(`
metadata: {name: p%[1]d, namespace: a, uid: uid-p%[1]d}
spec: {nodeName: n1, containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 1}}}]}
status:
  startTime: "2026-01-01T00:00:00Z"
  extendedResourceClaimStatus: {resourceClaimName: x%[1]d, requestMappings: [{containerName: main, resourceName: nvidia.com/gpu, requestName: r}]}`, i))
		controller := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "two", UID: one.UID, Controller: &controller}}
		pod.Labels = map[string]string{batchv1.ControllerUidLabel: string(one.UID)}
		b.markPod(pod, false)
		b.step() // its claim is not seen yet
		b.claim(fmt.Sprintf("x%d", i), fmt.Sprintf("uid-p%d", i), i).Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{UID: pod.UID}}
	}
	b.create("one", 1)
	b.says("one", "WaitingForMachines", "0 free on the machines of gpu")
	if got := b.usage(); got != 2 {
		t.Errorf("%d cards are charged, want 2", got)
	}
	b.slice(3)
	b.step()
	b.wantAdmitted(map[string]bool{"one": true})
}

func TestTheNewestClassGivesDevicesForAResource(t *testing.T) {
	r := "nvidia.com/gpu"
	class := func(name string, second int64) *resourceapi.DeviceClass {
		return &resourceapi.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(second, 0)},
			Spec:       resourceapi.DeviceClassSpec{ExtendedResourceName: &r},
		}
	}
	for _, c := range []struct {
		classes []*resourceapi.DeviceClass
		want    string
	}{
		{[]*resourceapi.DeviceClass{class("b", 1), class("a", 1)}, "a"},
		{[]*resourceapi.DeviceClass{class("b", 2), class("a", 1)}, "b"},
	} {
		classes := map[string]*resourceapi.DeviceClass{}
		for _, one := range c.classes {
			classes[one.Name] = one
		}
		if got := intake.ExtendedBy(classes, true)[r]; got != c.want {
			t.Errorf("class %s gives %s, want %s", got, r, c.want)
		}
		if got := intake.ExtendedBy(classes, true)["deviceclass.resource.kubernetes.io/b"]; got != "b" {
			t.Errorf("the name made of class b means %q", got)
		}
	}
}
