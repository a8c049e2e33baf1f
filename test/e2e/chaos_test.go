//go:build plane

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/plane/kubelet"
	"github.com/holdshort/holdshort/test/setting"
	"github.com/holdshort/holdshort/test/stories"
)

const chaosPolicy = `holdshort:
  config:
    resources: {unlimited: [cpu, memory, pods]}
    flavors:
      all: {nodeLabels: {pool: chaos}}
    classes: {high: {priority: 100}}
    queues:
      chaos:
        namespaces: {names: [chaos]}
        flavors: [all]
        preemption: {withinQueue: LowerPriority}
        placementTimeoutSeconds: 15
        backoff: {baseSeconds: 1, maxSeconds: 2}
        quota:
          all: {nvidia.com/gpu: 16, deviceclass.resource.kubernetes.io/mig.nvidia.com: 8}
`

// TestWhateverHappensJobsStartAndSayWhyTheyWait has bursts of all kinds of faults at once,
// and after each a time in which nobody but Jobs comes. Throughout, who waits says why, no
// device is given twice, and whoever is let go in quiet times has its pods placed; in the
// end every Job is over. HOLDSHORT_SEED draws the same faults and Jobs again, HOLDSHORT_BURSTS
// more of them.
func TestWhateverHappensJobsStartAndSayWhyTheyWait(t *testing.T) {
	seed := setting.Number(t, "HOLDSHORT_SEED", 0, uint64(time.Now().UnixNano()))
	bursts := setting.Number(t, "HOLDSHORT_BURSTS", 0, 3)
	t.Logf("HOLDSHORT_SEED=%d draws the same again", seed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(2+bursts)*time.Minute)
	defer cancel()
	env, err := stories.Start(ctx, stories.Options{Nodes: []cluster.NodeSpec{{Name: "node-1"}}, Policy: stories.Policy, Log: os.Stderr, Bin: built()})
	must(t, err)
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	must(t, env.Kubelet.AddDeviceClasses(ctx, kubelet.ResourceGPU))
	_, s := onBy(t, env, "chaos", chaosPolicy, history.Rules{
		Homeless: true, Limits: []history.Limit{{Queue: "chaos", Flavor: "all", Resource: kubelet.ResourceGPU, Amount: 16}},
	})
	c := &chaos{
		Scene: s, t: t, ctx: ctx, r: rand.New(rand.NewPCG(seed, 9)), began: time.Now(),
		nodes: chaosNodes(), again: map[string]func(context.Context) error{},
	}
	c.setUp()
	j := watchChaos(c)
	for range bursts {
		j.disturbed()
		for range 6 {
			c.interfere()
			time.Sleep(time.Duration(c.r.IntN(500)) * time.Millisecond)
		}
		c.sendAway("--field-selector", "spec.nodeName=")
		time.Sleep(500 * time.Millisecond)
		j.quiet()
		for range 3 {
			c.newJobs(1 + c.r.IntN(3))
			time.Sleep(1500 * time.Millisecond)
		}
	}
	j.disturbed()
	c.calm()
	j.quiet()
	j.end()
}

// chaos is who interferes with the machines of a queue, and who creates its Jobs. What it
// does follows from its seed; when it does it, and what comes of it, does not.
type chaos struct {
	*stories.Scene
	t      *testing.T
	ctx    context.Context
	r      *rand.Rand
	began  time.Time
	nodes  []cluster.NodeSpec
	again  map[string]func(context.Context) error // what ends a fault, by what it is
	jobs   int
	guests []string // pods that nobody queued
	made   int      // of them
}

// chaosNodes are two with a device plugin, and two with devices by claims.
func chaosNodes() []cluster.NodeSpec {
	in := func(zone string) map[string]string {
		return map[string]string{"pool": "chaos", "topology.kubernetes.io/zone": zone}
	}
	halves := []kubelet.Part{{Profile: "3g.40gb", Memory: "40Gi", Slices: 3, Places: 2}}
	return []cluster.NodeSpec{
		{Name: "chaos-1", GPUs: 8, Labels: in("a")},
		{Name: "chaos-2", GPUs: 4, Labels: in("b")},
		{Name: "chaos-3", Devices: kubelet.Devices{Cards: 4}, Labels: in("a")},
		{Name: "chaos-4", Devices: kubelet.Devices{Cards: 2, Parts: halves}, Labels: in("b")},
	}
}

func (c *chaos) say(format string, args ...any) {
	c.t.Helper()
	c.t.Logf("%6.2f %s", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

// operate is what an operator does. Some of it is refused, such as pods that are too much
// for the ResourceQuota.
func (c *chaos) operate(stdin string, args ...string) string {
	out, err := c.KubectlIn(c.ctx, cluster.Admin, stdin, args...)
	if err != nil {
		c.say("%.300v", err)
	}
	return out
}

func (c *chaos) setUp() {
	addNodes(c.t, c.ctx, c.Scene, c.nodes)
	c.operate("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: chaos-first}\nvalue: 1000\n", "apply", "-f", "-")
	const either = `apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: either}
spec: {spec: {devices: {requests: [{name: r, firstAvailable: [{name: card, deviceClassName: gpu.nvidia.com}, {name: half, deviceClassName: mig.nvidia.com}]}]}}}
`
	_, err := c.Apply(c.ctx, strings.Join([]string{
		template("card", kubelet.ClassGPU, 1), template("pair", kubelet.ClassGPU, 2), template("half", kubelet.ClassMIG, 1), either,
		sharedClaim("common", kubelet.ClassGPU, 1), sharedClaim("common-half", kubelet.ClassMIG, 1),
	}, "---\n"))
	must(c.t, err)
	bound(c.t, c.ctx, c.Scene, "in-a", "a", "ReadWriteMany")
	bound(c.t, c.ctx, c.Scene, "one-in-b", "b", "ReadWriteOncePod")
	c.limit(12, 14)
}

func (c *chaos) limit(gpus, pods int) {
	c.say("the namespace may have %d GPUs and %d pods", gpus, pods)
	c.operate(fmt.Sprintf("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: rq, namespace: chaos}\n"+
		"spec: {hard: {requests.nvidia.com/gpu: %d, pods: %d}}\n", gpus, pods), "apply", "-f", "-")
}

// newJobs ask for devices in all ways, and some are tied by volumes or by each other's claims.
func (c *chaos) newJobs(n int) {
	manifests := ""
	for range n {
		c.jobs++
		j := job{
			name: fmt.Sprintf("j%d", c.jobs), queue: "chaos", pods: 1 + c.r.IntN(2), run: fmt.Sprintf("%ds", 1+c.r.IntN(4)),
			stop: pick(c.r, "50ms", "2s"), spec: "  backoffLimit: 0\n",
		}
		if c.r.IntN(4) == 0 {
			j.priority = "high"
		}
		c.asks(&j, c.r.IntN(12))
		c.say("Job %s %s: %d pods, %d GPUs each, %s", j.name, j.priority, j.pods, j.gpus, strings.TrimSpace(j.podSpec))
		manifests += j.yaml()
	}
	_, err := c.Apply(c.ctx, manifests)
	must(c.t, err)
}

func (c *chaos) asks(j *job, kind int) {
	claims := []string{
		byTemplate("card"), byTemplate("card"), byTemplate("pair"), byTemplate("half"), byTemplate("either"),
		byName("common"), byName("common-half"),
	}
	if kind < len(claims) {
		j.podSpec, j.resources = "      resourceClaims: ["+claims[kind]+"]\n", "{claims: [{name: c}]}"
		if kind == 2 || kind > 4 {
			j.pods = 1 // there are two pairs in all, and no claim is for several pods before it is allocated
		}
		return
	}
	j.gpus = 1 + c.r.IntN(4)
	if claim := map[int]string{7: "in-a", 8: "one-in-b"}[kind]; claim != "" {
		j.podSpec = "      volumes: [{name: data, persistentVolumeClaim: {claimName: " + claim + "}}]\n"
		j.pods, j.gpus = min(j.pods, 9-kind), 1+j.gpus/2
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
