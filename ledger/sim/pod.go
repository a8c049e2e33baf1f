package sim

import (
	"fmt"
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// pod is a pod of a job that is not gone.
type pod struct {
	job *job
	set int
	is  *supply.Pod
}

func (r *run) makePod(j *job, set int) {
	r.seq++
	given, asked := j.is.Reservation.PodSets[set], j.PodSets[set]
	p := &pod{job: j, set: set, is: &supply.Pod{
		UID: fmt.Sprintf("%s-%d", j.UID, r.seq), Namespace: j.Namespace, Name: fmt.Sprintf("%s-%d", j.Name, r.seq),
		JobUID: j.UID, Queue: j.is.Reservation.Queue, Flavors: given.Flavors, Requests: asked.Requests, Created: r.now,
		Place: book.Inject(asked.Place, given.NodeSelector, given.Tolerations),
	}}
	j.pods = append(j.pods, p)
	r.book.SetPod(p.is)
	r.after(r.Delays.Schedule, func() {
		if p.there() {
			r.pending = append(r.pending, p)
		}
	})
}

func (p *pod) there() bool { return slices.Contains(p.job.pods, p) }

// set makes another version of a pod.
func (r *run) setPod(p *pod, change func(*supply.Pod)) {
	next := *p.is
	change(&next)
	p.is = &next
	r.book.SetPod(p.is)
}

// schedule binds whatever pod has room somewhere, to any such node.
func (r *run) schedule() {
	var left []*pod
	for _, p := range r.pending {
		var nodes []string
		for _, name := range sorted(r.nodes) {
			if r.fits(p.is, r.nodes[name]) {
				nodes = append(nodes, name)
			}
		}
		switch {
		case !p.there():
		case len(nodes) > 0:
			r.bind(p, r.choose(p, nodes))
		default:
			left = append(left, p)
			if p.is.UnschedulableSince == 0 {
				r.log.Unschedulable++
				r.setPod(p, func(is *supply.Pod) { is.UnschedulableSince = r.now })
			}
		}
	}
	r.pending = left
}

// choose picks one of the nodes that have room for a pod.
func (r *run) choose(p *pod, nodes []string) string {
	if !r.Hints {
		return nodes[r.chance.below(int64(len(nodes)))]
	}
	if given := p.job.is.Reservation; given != nil {
		there := map[string]int64{}
		for _, other := range p.job.pods {
			there[other.is.Node]++
		}
		for _, node := range nodes {
			if there[node] < given.Plan[node] {
				return node
			}
		}
	}
	return nodes[0]
}

func (r *run) bind(p *pod, node string) {
	if r.held[node] == nil {
		r.held[node] = resource.List{}
	}
	r.held[node].AddTo(p.is.Place.OnNode(p.is.Requests), 1)
	r.setPod(p, func(is *supply.Pod) { is.Node, is.Started, is.UnschedulableSince = node, true, 0 })
	r.after(r.Delays.Ready, func() {
		if p.there() && !p.is.Deleting {
			r.setPod(p, func(is *supply.Pod) { is.Ready = true })
		}
	})
	if p.job.Runs > 0 {
		r.at(r.now+p.job.Runs, func() {
			if p.there() && !p.is.Deleting {
				r.gone(p)
				r.completed(p.job, p.set)
			}
		})
	}
}

// deletePod has a pod go: at once if it is on no node, else when it likes.
func (r *run) deletePod(p *pod) {
	switch {
	case p.is.Deleting:
	case p.is.Node == "":
		r.gone(p)
	default:
		r.setPod(p, func(is *supply.Pod) { is.Deleting, is.DeletingSince = true, r.now })
		r.after(r.Delays.Grace, func() { r.gone(p) })
	}
}

// gone takes a pod away.
func (r *run) gone(p *pod) {
	j := p.job
	if !p.there() {
		return
	}
	j.pods = slices.DeleteFunc(j.pods, func(other *pod) bool { return other == p })
	if p.is.Node != "" {
		for name, n := range p.is.Place.OnNode(p.is.Requests) {
			r.held[p.is.Node][name] -= n
		}
	}
	r.book.DeletePod(p.is.UID)
	if !j.gone {
		r.write(j, func(*demand.Job) {})
	}
	if j.is.Admitted() {
		r.after(r.Delays.React, func() { r.react(j) })
	}
}
