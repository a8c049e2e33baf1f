//go:build plane

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/plane/kubelet"
	"github.com/holdshort/holdshort/test/stories"
)

// devicePolicy has a queue for the nodes of one pool, with a quota of whole cards and one
// of parts.
const devicePolicy = `holdshort:
  config:
    flavors:
      dra: {nodeLabels: {pool: %[1]s}}
    classes: {high: {priority: 100}}
    queues:
      dra:
        namespaces: {names: [%[1]s]}
        flavors: [dra]
        preemption: {withinQueue: LowerPriority}
        quota:
          dra: {nvidia.com/gpu: %[2]d, deviceclass.resource.kubernetes.io/mig.nvidia.com: 16}
`

// TestDevicesByClaims is a cluster whose devices are all given out by dynamic resource
// allocation.
func TestDevicesByClaims(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 14*time.Minute)
	defer cancel()
	env, err := stories.Start(ctx, stories.Options{
		Nodes:  []cluster.NodeSpec{{Name: "node-1", Devices: kubelet.Devices{Cards: 8}}, {Name: "node-2"}, {Name: "node-3"}},
		Policy: stories.Policy, Log: os.Stderr, Bin: built(),
	})
	must(t, err)
	defer func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	}()
	must(t, env.Kubelet.AddDeviceClasses(ctx, kubelet.ResourceGPU))
	for name, as := range map[string]stories.Training{
		"one quota, two trainings":                          {Claims: true},
		"the same, whose containers ask for nvidia.com/gpu": {},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s := on(t, env, "research", stories.Policy)
			must(t, stories.OneQuota(ctx, s, as))
		})
	}
	for name, play := range map[string]func(*testing.T, *deviceScene){
		"halves of a card":                  halvesOfACard,
		"a claim of somebody else":          somebodyElsesClaim,
		"a claim that outlives its pod":     outlivesItsPod,
		"a pod that is deleted by force":    deletedByForce,
		"a scheduler that fails on a pod":   schedulerFails,
		"a tainted device":                  taintedDevice,
		"devices that come late":            lateDevices,
		"what is missing is named":          missingThings,
		"a claim that Jobs share":           sharedByJobs,
		"the same, created at once":         sharedAtOnce,
		"a claim that pods share":           sharedByPods,
		"cards of a plugin and of claims":   bothKinds,
		"a manager that is killed knows it": afterAKill,
		"cards of those who go first":       takenFromOthers,
		"devices of a namespace":            devicesOfANamespace,
		"claims of a namespace":             claimsOfANamespace,
	} {
		t.Run(name, func(t *testing.T) { play(t, newDeviceScene(t, env)) })
	}
}

// deviceScene is a namespace, a queue and a pool of nodes of the same name.
type deviceScene struct {
	*stories.Scene
	t   *testing.T
	ctx context.Context
}

func newDeviceScene(t *testing.T, env *stories.Env) *deviceScene {
	t.Helper()
	ns := fmt.Sprintf("dra-%d", time.Now().UnixMilli()%1e9)
	ctx, s := onBy(t, env, ns, fmt.Sprintf(devicePolicy, ns, 4), history.Rules{})
	return &deviceScene{s, t, ctx}
}

func (s *deviceScene) node(name string, d kubelet.Devices) string {
	s.t.Helper()
	name = s.NS + "-" + name
	addNodes(s.t, s.ctx, s.Scene, []cluster.NodeSpec{{Name: name, Devices: d, Labels: map[string]string{"pool": s.NS}}})
	return name
}

func (s *deviceScene) apply(manifests ...string) {
	s.t.Helper()
	_, err := s.Apply(s.ctx, strings.Join(manifests, "---\n"))
	must(s.t, err)
}

// operate applies what only an operator may.
func (s *deviceScene) operate(manifest string) {
	s.t.Helper()
	_, err := s.KubectlIn(s.ctx, cluster.Admin, manifest, "apply", "-f", "-")
	must(s.t, err)
}

// template asks for n devices of a class.
func template(name, class string, n int) string {
	return fmt.Sprintf(`apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: %s}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: %s, count: %d}}]}}}
`, name, class, n)
}

func sharedClaim(name, class string, n int) string {
	return fmt.Sprintf(`apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: %s}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: %s, count: %d}}]}}
`, name, class, n)
}

// claims is a Job of one pod with these claims, each name: template or claim.
func claims(name, run string, pods int, of ...string) string {
	return job{
		name: name, queue: "dra", pods: pods, run: run, podSpec: "      resourceClaims: [" + strings.Join(of, ", ") + "]\n",
		resources: "{claims: [{name: c}]}",
	}.yaml()
}

func byTemplate(name string) string { return "{name: c, resourceClaimTemplateName: " + name + "}" }
func byName(name string) string     { return "{name: c, resourceClaimName: " + name + "}" }

// stranger is a pod that nobody queued, with a claim.
func (s *deviceScene) stranger(name, claim string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {plane.holdshort.dev/stop: 50ms}}
spec:
  nodeSelector: {pool: %s}
  resourceClaims: [%s]
  containers: [{name: main, image: main, resources: {claims: [{name: c}]}}]
`, name, s.NS, claim)
}

func (s *deviceScene) explains(job string, parts ...string) {
	s.t.Helper()
	must(s.t, s.Eventually(s.ctx, fmt.Sprintf("explain %s says %q", job, parts), func(ctx context.Context) (bool, string) {
		out, err := s.Explain(ctx, job)
		if err == nil {
			err = stories.Contains(out, parts...)
		}
		return err == nil, fmt.Sprint(err)
	}))
}

func halves() kubelet.Devices {
	return kubelet.Devices{Cards: 1, Parts: []kubelet.Part{{Profile: "3g.40gb", Memory: "40Gi", Slices: 3, Places: 3}}}
}

// Of a card there are halves at three places, and two have room. The third waits without
// a pod, is told for which devices, and starts when one ends.
func halvesOfACard(t *testing.T, s *deviceScene) {
	s.node("cut", halves())
	s.apply(template("half", kubelet.ClassMIG, 1), claims("a", "24h", 1, byTemplate("half")), claims("b", "24h", 1, byTemplate("half")))
	must(t, s.Running(s.ctx, "a", 1))
	must(t, s.Running(s.ctx, "b", 1))
	s.apply(claims("c", "1s", 1, byTemplate("half")))
	must(t, s.Waits(s.ctx, "c", "WaitingForMachines"))
	s.explains("c", "devices of class mig.nvidia.com")
	_, err := s.Kubectl(s.ctx, "delete", "job", "a")
	must(t, err)
	must(t, s.Finished(s.ctx, "c"))
}

// A pod that nobody queued has the card; it is charged to nobody, and in the way.
func somebodyElsesClaim(t *testing.T, s *deviceScene) {
	s.node("one", kubelet.Devices{Cards: 1})
	s.apply(template("card", kubelet.ClassGPU, 1), s.stranger("notebook", byTemplate("card")))
	must(t, s.PodRuns(s.ctx, "notebook"))
	s.apply(claims("train", "1s", 1, byTemplate("card")))
	must(t, s.Waits(s.ctx, "train", "WaitingForMachines"))
	s.explains("train", "devices of class gpu.nvidia.com")
	_, err := s.Kubectl(s.ctx, "delete", "pod", "notebook")
	must(t, err)
	must(t, s.Finished(s.ctx, "train"))
}

// A claim that stays allocated when its pod is gone keeps its device.
func outlivesItsPod(t *testing.T, s *deviceScene) {
	s.node("one", kubelet.Devices{Cards: 1})
	s.apply(sharedClaim("kept", kubelet.ClassGPU, 1), s.stranger("notebook", byName("kept")))
	must(t, s.PodRuns(s.ctx, "notebook"))
	claim := s.claim("kept")
	// Somebody else is to use it next, so it is not let go when the pod ends.
	claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{
		APIGroup: "example.com", Resource: "services", Name: "next", UID: types.UID("next"),
	})
	_, err := s.Client.ResourceV1().ResourceClaims(s.NS).UpdateStatus(s.ctx, claim, metav1.UpdateOptions{})
	must(t, err)
	_, err = s.Kubectl(s.ctx, "delete", "pod", "notebook")
	must(t, err)
	s.apply(template("card", kubelet.ClassGPU, 1), claims("train", "1s", 1, byTemplate("card")))
	must(t, s.Waits(s.ctx, "train", "WaitingForMachines"))
	must(t, s.NoPods(s.ctx, "train"))
	claim = s.claim("kept")
	claim.Status = resourceapi.ResourceClaimStatus{}
	_, err = s.Client.ResourceV1().ResourceClaims(s.NS).UpdateStatus(s.ctx, claim, metav1.UpdateOptions{})
	must(t, err)
	must(t, s.Finished(s.ctx, "train"))
}

func (s *deviceScene) claim(name string) *resourceapi.ResourceClaim {
	s.t.Helper()
	claim, err := s.Client.ResourceV1().ResourceClaims(s.NS).Get(s.ctx, name, metav1.GetOptions{})
	must(s.t, err)
	return claim
}

// A taint of a device, by rule, keeps Jobs away until it is gone.
func taintedDevice(t *testing.T, s *deviceScene) {
	node := s.node("one", kubelet.Devices{Cards: 1})
	s.apply(template("card", kubelet.ClassGPU, 1))
	s.operate(fmt.Sprintf(`apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: %[1]s}
spec: {deviceSelector: {driver: gpu.nvidia.com, pool: %[1]s}, taint: {key: broken, effect: NoSchedule}}
`, node))
	time.Sleep(time.Second) // the rule is no part of what Jobs wait for, so it has to be known first
	s.apply(claims("train", "1s", 1, byTemplate("card")))
	must(t, s.Says(s.ctx, "train", "NeverFits"))
	must(t, s.NoPods(s.ctx, "train"))
	must(t, s.Client.ResourceV1().DeviceTaintRules().Delete(s.ctx, node, metav1.DeleteOptions{}))
	must(t, s.Finished(s.ctx, "train"))
}

// A pool of which only a part is published gives nothing yet.
func lateDevices(t *testing.T, s *deviceScene) {
	node := s.node("late", kubelet.Devices{})
	s.apply(template("card", kubelet.ClassGPU, 1), claims("train", "1s", 1, byTemplate("card")))
	must(t, s.Says(s.ctx, "train", "NeverFits"))
	kind := "gpu"
	for part := range 2 {
		must(t, s.NoPods(s.ctx, "train"))
		_, err := s.Client.ResourceV1().ResourceSlices().Create(s.ctx, &resourceapi.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", node, part)},
			Spec: resourceapi.ResourceSliceSpec{
				Driver: kubelet.DeviceDriver, NodeName: &node, Pool: resourceapi.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 2},
				Devices: []resourceapi.Device{{
					Name:       fmt.Sprintf("gpu-%d", part),
					Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"type": {StringValue: &kind}},
				}},
			},
		}, metav1.CreateOptions{})
		must(t, err)
		t.Cleanup(func() {
			_ = s.Client.ResourceV1().ResourceSlices().Delete(context.Background(), fmt.Sprintf("%s-%d", node, part), metav1.DeleteOptions{})
		})
	}
	must(t, s.Finished(s.ctx, "train"))
}

// A Job is told which template, claim or class is missing, and starts when it is there.
func missingThings(t *testing.T, s *deviceScene) {
	s.node("one", kubelet.Devices{Cards: 1})
	s.apply(claims("train", "1s", 1, byTemplate("card")), claims("share", "1s", 1, byName("common")))
	must(t, s.Says(s.ctx, "train", "MissingObject"))
	s.explains("train", "WAITING")
	s.explains("train", "ResourceClaimTemplate card not found in namespace "+s.NS)
	s.explains("share", "ResourceClaim common not found in namespace "+s.NS)
	class := s.NS + ".example.com"
	s.apply(template("card", class, 1), sharedClaim("common", kubelet.ClassGPU, 1))
	must(t, s.Finished(s.ctx, "share"))
	s.explains("train", "DeviceClass "+class+" not found")
	// Then there is one that the scheduler can make nothing of, and then a good one, of
	// which no quota knows.
	const withClass = `apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: %s}
spec: {selectors: [{cel: {expression: '%s'}}]}
`
	s.operate(fmt.Sprintf(withClass, class, `device.attributes["gpu.nvidia.com"].missing == 1`))
	must(t, s.Eventually(s.ctx, "train is told of the expression", func(ctx context.Context) (bool, string) {
		out, err := s.Explain(ctx, "train")
		return err == nil && strings.Contains(out, "no such key: missing"), out
	}))
	s.operate(fmt.Sprintf(withClass, class, `device.driver == "gpu.nvidia.com"`))
	must(t, s.Says(s.ctx, "train", "UnknownResource"))
	s.explains("train", "deviceclass.resource.kubernetes.io/"+class+": not in a quota of ")
	s.explains("train", "Try: have it given a quota (queues.")
	must(t, s.NoPods(s.ctx, "train"))
}

func (s *deviceScene) uses(amounts string) {
	s.t.Helper()
	must(s.t, s.Eventually(s.ctx, "the queue uses "+amounts, func(ctx context.Context) (bool, string) {
		out, err := s.Env.Kubectl(ctx, cluster.Admin, "get", "queues.holdshort.dev", "dra", "--no-headers")
		return err == nil && strings.Contains(out, amounts), out
	}))
}

// Who begins anew sees all claims before it decides anything.
func afterAKill(t *testing.T, s *deviceScene) {
	s.node("two", kubelet.Devices{Cards: 2})
	s.apply(template("card", kubelet.ClassGPU, 1), claims("runs", "24h", 2, byTemplate("card")))
	must(t, s.Running(s.ctx, "runs", 2))
	s.Manager.Kill()
	s.apply(claims("waits", "1s", 1, byTemplate("card")))
	must(t, s.Manager.Start(context.WithoutCancel(s.ctx)))
	must(t, s.Waits(s.ctx, "waits", "WaitingForMachines"))
	s.uses("2/4 nvidia.com/gpu")
	_, err := s.Kubectl(s.ctx, "delete", "job", "runs")
	must(t, err)
	must(t, s.Finished(s.ctx, "waits"))
}

// Containers ask for nvidia.com/gpu where one node has a device plugin, one gives out its
// devices, and one has both kinds, of which its plugin's count. No card is counted twice.
func bothKinds(t *testing.T, s *deviceScene) {
	name := func(node string) string { return s.NS + "-" + node }
	pool := map[string]string{"pool": s.NS}
	addNodes(t, s.ctx, s.Scene, []cluster.NodeSpec{
		{Name: name("plugin"), GPUs: 1, Labels: pool},
		{Name: name("claims"), Devices: kubelet.Devices{Cards: 1}, Labels: pool},
		{Name: name("both"), GPUs: 1, Devices: kubelet.Devices{Cards: 1}, Labels: pool},
	})
	s.apply(job{name: "four", queue: "dra", pods: 4, gpus: 1}.yaml())
	must(t, s.Says(s.ctx, "four", "NeverFits"))
	s.apply(job{name: "three", queue: "dra", pods: 3, gpus: 1}.yaml())
	must(t, s.Running(s.ctx, "three", 3))
	s.uses("3/4 nvidia.com/gpu")
	// What is left is the card of the third node that its plugin does not know.
	s.apply(job{name: "one", queue: "dra", pods: 1, gpus: 1}.yaml())
	must(t, s.Waits(s.ctx, "one", "WaitingForMachines"))
	s.apply(template("card", kubelet.ClassGPU, 1), claims("by-claim", "1s", 1, byTemplate("card")))
	must(t, s.Finished(s.ctx, "by-claim"))
	must(t, s.NoPods(s.ctx, "one"))
	_, err := s.Kubectl(s.ctx, "delete", "job", "three")
	must(t, err)
	must(t, s.Running(s.ctx, "one", 1))
}
