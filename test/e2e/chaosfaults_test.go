//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// interfere in one of many ways.
func (c *chaos) interfere() {
	ways := []func(){
		c.guest, c.guest, c.guestWithClaim, c.endGuest, c.killGuest, c.cordon, c.drain, c.replace, c.stopPlugin, c.halfAPool, c.taintCard,
		c.killManager,
		func() { c.limit(6+c.r.IntN(10), 6+c.r.IntN(10)) },
		func() { c.newJobs(2) },
	}
	pick(c.r, ways...)()
}

func (c *chaos) guest() {
	c.guestOf("", fmt.Sprintf("{limits: {nvidia.com/gpu: %d}}", 1+c.r.IntN(4)))
}

func (c *chaos) guestWithClaim() {
	c.guestOf("resourceClaims: ["+byTemplate(pick(c.r, "card", "pair", "half"))+"], ", "{claims: [{name: c}]}")
}

// guestOf is a pod that nobody queued, and that may have the scheduler end others for it.
func (c *chaos) guestOf(claims, resources string) {
	c.made++
	name, first := fmt.Sprintf("guest-%d", c.made), pick(c.r, "", "priorityClassName: chaos-first, ")
	c.say("%s comes: %s%s%s", name, first, claims, resources)
	c.operate(fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: chaos, annotations: {plane.holdshort.dev/stop: 2s, plane.holdshort.dev/ghost: 1s}}\n"+
		"spec: {terminationGracePeriodSeconds: 60, nodeSelector: {pool: chaos}, %s%scontainers: [{name: main, image: main, resources: %s}]}\n", name, first, claims, resources), "apply", "-f", "-")
	c.guests = append(c.guests, name)
}

func (c *chaos) endGuest() { c.goes("is deleted", "--wait=false") }

// killGuest deletes one by force: its processes run on for a second.
func (c *chaos) killGuest() { c.goes("is deleted by force", "--force", "--grace-period=0") }

func (c *chaos) goes(how string, args ...string) {
	if len(c.guests) == 0 {
		return
	}
	c.say("%s %s", c.guests[0], how)
	c.operate("", append([]string{"delete", "pod", "-n", "chaos", "--ignore-not-found", c.guests[0]}, args...)...)
	c.guests = c.guests[1:]
}

// sendAway all pods that nobody queued, of some kind.
func (c *chaos) sendAway(which ...string) {
	c.operate("", append([]string{"delete", "pod", "-n", "chaos", "-l", "!batch.kubernetes.io/job-name", "--wait=false"}, which...)...)
}

// fault happens, or ends if it is there.
func (c *chaos) fault(what string, happen func() (func(context.Context) error, error)) {
	end, there := c.again[what]
	if there {
		c.say("no longer: %s", what)
		delete(c.again, what)
		if err := end(c.ctx); err != nil {
			c.say("%v", err)
		}
		return
	}
	c.say("%s", what)
	end, err := happen()
	if err != nil {
		c.say("%v", err)
		return
	}
	c.again[what] = end
}

func (c *chaos) anyNode() string    { return pick(c.r, c.nodes...).Name }
func (c *chaos) pluginNode() string { return pick(c.r, c.nodes[:2]...).Name }
func (c *chaos) claimsNode() string { return pick(c.r, c.nodes[2:]...).Name }

func (c *chaos) cordon() {
	node := c.anyNode()
	c.fault(node+" is cordoned", func() (func(context.Context) error, error) {
		c.operate("", "cordon", node)
		return func(context.Context) error { c.operate("", "uncordon", node); return nil }, nil
	})
}

func (c *chaos) drain() {
	node := c.anyNode()
	c.say("%s is drained of pods of Jobs", node)
	c.operate("", "delete", "pod", "-n", "chaos", "-l", "batch.kubernetes.io/job-name", "--field-selector", "spec.nodeName="+node, "--wait=false")
}

// replace a machine by a new one of the same name, of which no fault is known.
func (c *chaos) replace() {
	node := pick(c.r, c.nodes...)
	c.say("%s is replaced", node.Name)
	must(c.t, c.Kubelet.Recreate(c.ctx, node))
	for what := range c.again {
		if strings.HasPrefix(what, node.Name+" ") {
			delete(c.again, what)
		}
	}
}

func (c *chaos) stopPlugin() {
	node := c.pluginNode()
	c.fault(node+" has no plugin", func() (func(context.Context) error, error) {
		return c.Kubelet.StopPlugin(c.ctx, node, kubelet.ResourceGPU)
	})
}

func (c *chaos) halfAPool() {
	node := c.claimsNode()
	c.fault(node+" has announced half of its devices anew", func() (func(context.Context) error, error) { return c.Kubelet.BumpPool(c.ctx, node) })
}

func (c *chaos) taintCard() {
	node, card := c.claimsNode(), pick(c.r, "gpu-0", "gpu-1")
	c.fault(card+" of "+node+" is tainted", func() (func(context.Context) error, error) {
		return c.Kubelet.TaintDeviceByRule(c.ctx, node, card, resourceapi.DeviceTaint{Key: "chaos", Effect: resourceapi.DeviceTaintEffectNoSchedule})
	})
}

func (c *chaos) killManager() {
	c.say("the manager is killed")
	c.Manager.Kill()
	must(c.t, c.Manager.Start(c.ctx))
}

// calm ends all faults.
func (c *chaos) calm() {
	c.say("nobody interferes any more")
	c.limit(40, 60)
	for what, end := range c.again {
		if err := end(c.ctx); err != nil {
			c.t.Errorf("%s: %v", what, err)
		}
	}
	c.sendAway()
	time.Sleep(time.Second)
}
