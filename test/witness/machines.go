package witness

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/history"
)

// pod is one pod, ours or a stranger's.
type pod struct {
	name, queue string
	job         *job // nil: a stranger's
	asks        int64
	state
	homeless bool // nobody can place it
	since    time.Duration
	stuck    bool
}

// state of a pod.
type state struct {
	node                  string
	live, runs, succeeded bool
}

func (s state) bound() bool { return s.live && s.node != "" }

// node is a machine.
type node struct {
	allocatable, held int64
	closed            bool // takes no new pods
	labels            map[string]string
}

func (a *Account) nodeOf(name string) *node {
	if a.nodes[name] == nil {
		a.nodes[name] = &node{}
	}
	return a.nodes[name]
}

// node takes a version of a node. Its pods may be seen before it is.
func (a *Account) node(e history.Event) {
	n := a.nodeOf(e.Node.Name)
	if e.Change == history.Deleted {
		n.closed, n.allocatable = true, 0
		return
	}
	amount := e.Node.Status.Allocatable[a.load.Resource]
	n.allocatable, n.labels = amount.Value(), e.Node.Labels
	n.closed = e.Node.Spec.Unschedulable || len(e.Node.Spec.Taints) > 0 || !ready(e.Node)
}

func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// pod takes a version of a pod. What pods hold is summed up from pods alone, whose
// versions come in the order of their writes: what the sums say was so.
func (a *Account) pod(e history.Event, at time.Duration) {
	p := a.pods[e.Pod.UID]
	if p == nil {
		p = &pod{
			name: e.Pod.Namespace + "/" + e.Pod.Name, queue: e.Pod.Labels[a.load.Label],
			asks: asked(&e.Pod.Spec, a.load.Resource),
		}
		if owner := metav1.GetControllerOf(e.Pod); owner != nil && e.Pod.Namespace == a.load.Namespace {
			p.job = a.jobOf(owner.UID)
		}
		a.pods[e.Pod.UID] = p
	}
	phase := e.Pod.Status.Phase
	is := state{node: e.Pod.Spec.NodeName, succeeded: phase == corev1.PodSucceeded}
	is.live = e.Change != history.Deleted && !is.succeeded && phase != corev1.PodFailed
	is.runs = is.live && phase == corev1.PodRunning
	is.succeeded = is.succeeded || p.succeeded // gone or not, it has done its work
	if p.job != nil {
		a.alter(p.job, func() { p.job.replace(p.state, is) })
	}
	a.hold(p, is, at)
	p.state = is
	a.place(p, is.live && unschedulable(e.Pod), at)
	if e.Change == history.Deleted {
		delete(a.pods, e.Pod.UID)
	}
}

// replace the state of one of the pods of a Job.
func (j *job) replace(was, is state) {
	for _, c := range []struct {
		count   *int64
		was, is bool
	}{{&j.live, was.live, is.live}, {&j.running, was.runs, is.runs}, {&j.done, was.succeeded, is.succeeded},
		{&j.bound, was.bound(), is.bound()}} {
		*c.count += one(c.is) - one(c.was)
	}
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// hold books what a pod holds, of its node and its queue, and judges what it adds.
func (a *Account) hold(p *pod, is state, at time.Duration) {
	more := p.asks * (one(is.live) - one(p.live))
	a.held[p.queue] += more
	if quota, has := a.load.Quota[p.queue]; has && more > 0 && a.held[p.queue] > quota {
		a.broken(at, "the pods of queue %s hold %d of %d with %s", p.queue, a.held[p.queue], quota, p.name)
	}
	if more = p.asks * (one(is.bound()) - one(p.bound())); more == 0 {
		return
	}
	name := is.node
	if name == "" {
		name = p.node
	}
	n := a.nodeOf(name)
	n.held += more
	if more > 0 && n.allocatable > 0 && n.held > n.allocatable {
		a.broken(at, "the pods of node %s hold %d of %d with %s", name, n.held, n.allocatable, p.name)
	}
}

func unschedulable(p *corev1.Pod) bool {
	if p.Spec.NodeName != "" {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}

// place notes since when nobody can place a pod of the load.
func (a *Account) place(p *pod, homeless bool, at time.Duration) {
	if p.job == nil {
		return
	}
	if p.homeless {
		a.patience(p, at)
	} else if homeless {
		p.since = at
	}
	p.homeless = homeless
}

// patience ends.
func (a *Account) patience(p *pod, at time.Duration) {
	if !p.homeless {
		return
	}
	a.counts.Longest = max(a.counts.Longest, at-p.since)
	if !p.stuck && at-p.since > a.load.Patience {
		p.stuck = true
		a.counts.Stuck = append(a.counts.Stuck, p.name)
	}
}
