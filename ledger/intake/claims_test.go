package intake_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

const cardClass, partClass = "gpu.example.com", "part.example.com"

// claimWorld has a class that is charged as an extended resource and one that has none,
// one template t of these devices, and one claim c of them with this status.
func claimWorld(t *testing.T, devices, status string) *intake.Claims {
	t.Helper()
	classes := map[string]*resourceapi.DeviceClass{
		cardClass: parse[resourceapi.DeviceClass](t, "{metadata: {name: gpu.example.com}, spec: {extendedResourceName: example.com/gpu}}"),
		partClass: parse[resourceapi.DeviceClass](t, "{metadata: {name: part.example.com}}"),
	}
	template := parse[resourceapi.ResourceClaimTemplate](t, fmt.Sprintf("{metadata: {name: t}, spec: {spec: {devices: %s}}}", devices))
	claim := parse[resourceapi.ResourceClaim](t, fmt.Sprintf("{metadata: {name: c}, spec: {devices: %s}, status: %s}", devices, status))
	return &intake.Claims{
		Template: func(namespace, name string) *resourceapi.ResourceClaimTemplate {
			if namespace == "research" && name == "t" {
				return template
			}
			return nil
		},
		Claim: func(namespace, name string) *resourceapi.ResourceClaim {
			if namespace == "research" && name == "c" {
				return claim
			}
			return nil
		},
		Class: func(name string) *resourceapi.DeviceClass { return classes[name] },
		Most:  func(*resourceapi.DeviceSubRequest) int64 { return 6 },
		Row: func(specs []resourceapi.ResourceClaimSpec) (string, int64, string) {
			return fmt.Sprintf("devices:of %d claims", len(specs)), 2, ""
		},
	}
}

func TestWhatClaimsAreChargedAs(t *testing.T) {
	cases := []struct {
		name    string
		devices string
		claims  string // of the pod; empty: one of template t
		want    resource.List
		rows    resource.List
	}{
		{
			name:    "a number of devices of a class that has an extended resource is charged as that",
			devices: "{requests: [{name: r, exactly: {deviceClassName: gpu.example.com, allocationMode: ExactCount, count: 2}}]}",
			want:    resource.List{"example.com/gpu": 2},
		},
		{
			name:    "those of another class by the name that Kubernetes has for it",
			devices: "{requests: [{name: r, exactly: {deviceClassName: part.example.com, allocationMode: ExactCount, count: 3}}]}",
			want:    resource.List{"deviceclass.resource.kubernetes.io/part.example.com": 3},
		},
		{
			name: "several requests, and several claims, add up",
			devices: "{requests: [{name: a, exactly: {deviceClassName: gpu.example.com, allocationMode: ExactCount, count: 1}}, " +
				"{name: b, exactly: {deviceClassName: gpu.example.com, allocationMode: ExactCount, count: 2}}]}",
			claims: "[{name: x, resourceClaimTemplateName: t}, {name: y, resourceClaimTemplateName: t}]",
			want:   resource.List{"example.com/gpu": 6},
			rows:   resource.List{"devices:of 2 claims": 2},
		},
		{
			name: "of alternatives the most of each",
			devices: "{requests: [{name: r, firstAvailable: [{name: a, deviceClassName: gpu.example.com, allocationMode: ExactCount, count: 1}, " +
				"{name: b, deviceClassName: part.example.com, allocationMode: ExactCount, count: 4}, " +
				"{name: c, deviceClassName: part.example.com, allocationMode: ExactCount, count: 2}]}]}",
			want: resource.List{"example.com/gpu": 1, "deviceclass.resource.kubernetes.io/part.example.com": 4},
		},
		{
			name:    "all devices are as many as a node has at most",
			devices: "{requests: [{name: r, exactly: {deviceClassName: gpu.example.com, allocationMode: All}}]}",
			want:    resource.List{"example.com/gpu": 6},
		},
		{
			name:    "admin access is charged nothing",
			devices: "{requests: [{name: r, exactly: {deviceClassName: gpu.example.com, allocationMode: All, adminAccess: true}}]}",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			claims, rows := c.claims, c.rows
			if claims == "" {
				claims, rows = "[{name: x, resourceClaimTemplateName: t}]", resource.List{"devices:of 1 claims": 2}
			}
			job := jobOf(t, "{containers: [{name: a}], resourceClaims: "+claims+"}")
			got := intake.Job(job, intake.Env{Claims: claimWorld(t, c.devices, "{}").OfJob})
			if got.Problem != nil {
				t.Fatalf("problem: %s", got.Problem.Message)
			}
			set := got.PodSets[0]
			want := resource.List{resource.Pods: 1}
			want.AddTo(c.want, 1)
			if diff := cmp.Diff(want, set.Requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(resource.List{resource.Pods: 1}, set.Place.OnNode(set.Requests)); diff != "" {
				t.Errorf("of which a node has (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(rows, set.Place.Devices); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, resource.List(got.Policy.Total)); diff != "" {
				t.Errorf("the policy sees (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatOfClaimsCannotBeCountedIsNamed(t *testing.T) {
	const one = "{requests: [{name: r, exactly: {deviceClassName: gpu.example.com, allocationMode: ExactCount, count: 1}}]}"
	cases := []struct{ name, devices, claim, says string }{
		{"a template that is not there", one, "{name: x, resourceClaimTemplateName: u}", "resourceClaims[x].resourceClaimTemplateName: ResourceClaimTemplate u not found in namespace research"},
		{"a claim that is not there", one, "{name: x, resourceClaimName: u}", "resourceClaims[x].resourceClaimName: ResourceClaim u not found in namespace research"},
		{"neither of both", one, "{name: x}", "neither a ResourceClaim nor a template"},
		{
			"a class that is not there", "{requests: [{name: r, exactly: {deviceClassName: none.example.com, count: 1}}]}",
			"{name: x, resourceClaimTemplateName: t}", "DeviceClass none.example.com not found",
		},
		{
			"a part of a device", "{requests: [{name: r, exactly: {deviceClassName: gpu.example.com, count: 1, capacity: {requests: {memory: 1Gi}}}}]}",
			"{name: x, resourceClaimTemplateName: t}", "request r asks for a part of a device's capacity",
		},
		{
			"a mode of the future", "{requests: [{name: r, exactly: {deviceClassName: gpu.example.com, allocationMode: Some}}]}",
			"{name: x, resourceClaimTemplateName: t}", "an allocation mode that is not known: Some",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := jobOf(t, "{containers: [{name: a}], resourceClaims: ["+c.claim+"]}")
			got := intake.Job(job, intake.Env{Claims: claimWorld(t, c.devices, "{}").OfJob})
			want := reason.BadRequest
			if strings.Contains(c.says, "not found") {
				want = reason.MissingObject
			}
			if got.Problem == nil || got.Problem.Code != want {
				t.Fatalf("problem %v, want a %s", got.Problem, want)
			}
			wantSays(t, got.Problem.Message, c.says, "Try: ")
		})
	}
}

const allocated = `{allocation: {nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}}`

func there() []demand.Pin {
	return []demand.Pin{{Name: "resource claim x", Is: "allocated on metadata.name=n1", Terms: []demand.NodeTerm{
		{Fields: []demand.NodeRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n1"}}}},
	}}}
}

func TestAClaimThatIsAllocatedSaysWhereAndTakesNoMore(t *testing.T) {
	claims := claimWorld(t, "{requests: [{name: r, exactly: {deviceClassName: gpu.example.com, count: 1}}]}", allocated)
	job := jobOf(t, "{containers: [{name: a}], resourceClaims: [{name: x, resourceClaimName: c}]}")
	many := int32(8)
	job.Spec.Parallelism = &many
	got := intake.Job(job, intake.Env{Claims: claims.OfJob})
	if got.Problem != nil {
		t.Fatalf("problem: %s", got.Problem.Message)
	}
	set := got.PodSets[0]
	if diff := cmp.Diff(there(), set.Place.Pins); diff != "" {
		t.Errorf("where (-want +got):\n%s", diff)
	}
	if set.Place.Devices != nil {
		t.Errorf("rows %v for devices that are given out already", set.Place.Devices)
	}
}

func TestPodsAreChargedForTheirClaims(t *testing.T) {
	const one = "{requests: [{name: r, exactly: {deviceClassName: gpu.example.com, count: 2}}]}"
	cases := []struct {
		name, pod, status string
		charged, rows     resource.List
		nodes             []demand.Pin
		specs             int
	}{
		{
			name: "by the template while there is no claim", pod: "{spec: {resourceClaims: [{name: x, resourceClaimTemplateName: t}]}}", status: "{}",
			charged: resource.List{"example.com/gpu": 2}, rows: resource.List{"devices:of 1 claims": 2}, specs: 1,
		},
		{
			name: "by the claim that was made for it, which takes no more once it is allocated", status: allocated,
			pod:     "{spec: {resourceClaims: [{name: x, resourceClaimTemplateName: gone}]}, status: {resourceClaimStatuses: [{name: x, resourceClaimName: c}]}}",
			charged: resource.List{"example.com/gpu": 2}, nodes: there(), specs: 1,
		},
		{
			name: "not each for a claim that they share", pod: "{spec: {resourceClaims: [{name: x, resourceClaimName: c}]}}", status: allocated,
			nodes: there(), specs: 1,
		},
		{
			name: "one of them is, the first", pod: "{metadata: {uid: p1}, spec: {resourceClaims: [{name: x, resourceClaimName: c}]}}",
			status:  strings.TrimSuffix(allocated, "}") + ", reservedFor: [{resource: pods, name: a, uid: p1}, {resource: pods, name: b, uid: p2}]}",
			charged: resource.List{"example.com/gpu": 2}, nodes: there(), specs: 1,
		},
		{
			name: "the others are not", pod: "{metadata: {uid: p2}, spec: {resourceClaims: [{name: x, resourceClaimName: c}]}}",
			status: strings.TrimSuffix(allocated, "}") + ", reservedFor: [{resource: pods, name: a, uid: p1}, {resource: pods, name: b, uid: p2}]}",
			nodes:  there(), specs: 1,
		},
		{
			name: "on a node the devices are those that the claims have", pod: "{spec: {nodeName: n1, resourceClaims: [{name: x, resourceClaimTemplateName: t}]}}",
			status: "{}", charged: resource.List{"example.com/gpu": 2}, specs: 1,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pod := parse[corev1.Pod](t, c.pod)
			pod.Namespace = "research"
			got := intake.Pod(pod, nil)
			specs := claimWorld(t, one, c.status).OfPod(got, pod)
			want := resource.List{resource.Pods: 1}
			want.AddTo(c.charged, 1)
			if diff := cmp.Diff(want, got.Requests); diff != "" {
				t.Errorf("charged (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.rows, got.Place.Devices); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.nodes, got.Place.Pins); diff != "" {
				t.Errorf("where (-want +got):\n%s", diff)
			}
			if len(specs) != c.specs {
				t.Errorf("%d claims, want %d", len(specs), c.specs)
			}
		})
	}
}

func TestDevicesBeyondCountingAreHeldAtTheLimit(t *testing.T) {
	claims := claimWorld(t, "{requests: [{name: r, exactly: {deviceClassName: gpu.example.com, count: 9223372036854775807}}]}", "{}")
	got := intake.Job(jobOf(t, "{containers: [{name: a}], resourceClaims: [{name: x, resourceClaimTemplateName: t}, {name: y, resourceClaimTemplateName: t}]}"),
		intake.Env{Claims: claims.OfJob})
	if n := got.PodSets[0].Requests["example.com/gpu"]; n != math.MaxInt64 || got.Problem == nil {
		t.Errorf("%d and %v", n, got.Problem)
	}
}

func wantSays(t *testing.T, message string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(message, part) {
			t.Errorf("%q does not say %q", message, part)
		}
	}
}
