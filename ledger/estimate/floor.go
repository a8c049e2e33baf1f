package estimate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// nowhere is where pods are that no machine of the play has room for: what is not
// counted here is not for the play to doubt.
const nowhere = "(elsewhere)"

// floor is the machines and what is left on them.
type floor struct {
	nodes []*supply.Node // by name
	held  map[string]resource.List

	stocks   stocks
	extended map[string]string // see supply.Counted
}

func newFloor(extended map[string]string) *floor {
	return &floor{held: map[string]resource.List{}, stocks: stocks{}, extended: extended}
}

func (f *floor) hold(node string, requests resource.List, sign int64) {
	if f.held[node] == nil {
		f.held[node] = resource.List{}
	}
	f.held[node].AddTo(requests, sign)
}

func (f *floor) fits(p *supply.Pod, n *supply.Node) bool {
	if !n.Ready {
		return false
	}
	there := f.on(n, p)
	return n.Takes(there, f.held[n.Name]) && f.stocks.has(n.Name, there)
}

// place finds a node for a pod: one that it is planned for, else any.
func (f *floor) place(p *supply.Pod, plan map[string]int64) *supply.Pod {
	for _, planned := range []bool{true, false} {
		for _, n := range f.nodes {
			if (!planned || plan[n.Name] > 0) && f.fits(p, n) {
				there := f.on(n, p)
				there.Node = n.Name
				return there
			}
		}
		if len(plan) == 0 {
			break // not planned for machines that are known
		}
	}
	elsewhere := *p
	elsewhere.Node = nowhere
	return &elsewhere
}

// pod of a play, and which set of its Job it is of.
type pod struct {
	is  *supply.Pod
	set int
}

// begin sets up what there is now.
func (p *play) begin() {
	p.book.Follow(p.in.Catalog)
	p.elastic = supply.ElasticOf(p.in.Catalog)
	p.free.nodes = slices.Clone(p.Nodes)
	slices.SortFunc(p.free.nodes, func(a, b *supply.Node) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	for _, n := range p.free.nodes {
		p.book.SetNode(n)
	}
	p.stock()
	for i, is := range p.cast {
		p.cast[i] = inOne(is)
		p.jobs[is.UID] = &job{is: p.cast[i]}
	}
	for _, is := range p.Pods {
		p.bring(is)
	}
	for _, is := range p.cast {
		p.book.SetJob(is)
	}
	for _, is := range p.cast {
		j := p.jobs[is.UID]
		switch {
		case is.Deleting:
		case waits(is):
			p.leaveLater(j)
		default:
			p.populate(j)
			p.endLater(j)
		}
	}
	p.holdsEnd()
}

// inOne is a Job that waits, in which pods that go together are one pod: none of them
// comes or ends without the others here.
func inOne(is *demand.Job) *demand.Job {
	if !waits(is) || !slices.ContainsFunc(is.PodSets, func(s demand.PodSet) bool { return s.Together > 0 }) {
		return is
	}
	one := *is
	one.PodSets = slices.Clone(is.PodSets)
	for i := range one.PodSets {
		one.PodSets[i].Together, one.PodSets[i].Topology = 0, demand.Topology{}
	}
	return &one
}

// bring takes in a pod that is there.
func (p *play) bring(is *supply.Pod) {
	j := p.jobs[is.JobUID]
	if is.Node != "" {
		p.free.hold(is.Node, is.Place.OnNode(is.Requests), 1)
		is = p.free.on(nil, is)
	}
	if j == nil && !is.Deleting {
		p.book.SetPod(is)
		return // somebody else's: it stays
	}
	one := &pod{is: is}
	p.book.SetPod(is)
	if is.Deleting || j == nil || j.is.Deleting {
		p.at(p.now+p.goes(is.JobUID), func() { p.remove(one) })
		return
	}
	one.set = j.setOf(is)
	j.pods = append(j.pods, one)
}

// setOf is the set that a pod is of, as it looks: one that is not full yet.
func (j *job) setOf(is *supply.Pod) int {
	for set := range j.is.PodSets {
		n := int64(0)
		for _, one := range j.pods {
			if one.set == set {
				n++
			}
		}
		if n < j.is.PodSets[set].Count && maps.Equal(is.Requests, j.is.PodSets[set].Requests) {
			return set
		}
	}
	return 0
}

// goes is how long a pod takes to go.
func (p *play) goes(uid string) int64 {
	if p.late(uid) {
		return p.Lag
	}
	return 0
}

// populate sees to it that a Job that runs has all its pods, each on a machine.
func (p *play) populate(j *job) {
	r := j.is.Reservation
	if r == nil {
		return // past the queue: it has what it has
	}
	there := map[string]int64{}
	for _, one := range j.pods {
		there[one.is.Node]++
	}
	open := map[string]int64{}
	for node, n := range r.Plan {
		open[node] = n - there[node]
	}
	have := make([]int64, len(r.PodSets))
	for _, one := range j.pods {
		p.settle(one, open)
		if one.set < len(have) {
			have[one.set]++
		}
	}
	for set := range min(len(r.PodSets), len(j.is.PodSets)) {
		for range min(r.PodSets[set].Count, j.is.PodSets[set].Count) - have[set] {
			p.makePod(j, set, open)
		}
	}
}

func (p *play) makePod(j *job, set int, open map[string]int64) {
	p.seq++
	given, asked := j.is.Reservation.PodSets[set], j.is.PodSets[set]
	one := &pod{set: set, is: &supply.Pod{
		UID: fmt.Sprintf("%s-play-%d", j.is.UID, p.seq), Namespace: j.is.Namespace, JobUID: j.is.UID, Queue: j.is.Reservation.Queue,
		Flavors: given.Flavors, Requests: asked.Requests, Created: p.now,
		Place: book.Inject(asked.Place, given.NodeSelector, given.Tolerations),
	}}
	j.pods = append(j.pods, one)
	p.settle(one, open)
}

// settle binds a pod and has it be ready.
func (p *play) settle(one *pod, open map[string]int64) {
	next := *one.is
	if next.Node == "" {
		next = *p.free.place(&next, open)
		if next.Node == nowhere {
			next.Node = p.addFor(&next)
		}
		open[next.Node]--
		p.free.hold(next.Node, next.Place.OnNode(next.Requests), 1)
		p.deliver(next.Node, next.Place.Devices, -1)
	}
	next.Started, next.Ready, next.UnschedulableSince = true, true, 0
	one.is = &next
	p.book.SetPod(one.is)
}

// leave has the pods of a Job begin to end.
func (p *play) leave(j *job) {
	for _, one := range j.pods {
		next := *one.is
		next.Deleting, next.DeletingSince = true, p.now
		one.is = &next
		p.book.SetPod(one.is)
	}
}

// empty takes the pods of a Job away.
func (p *play) empty(j *job) {
	for _, one := range j.pods {
		p.remove(one)
	}
	j.pods = nil
}

func (p *play) remove(one *pod) {
	if one.is.Node != "" {
		p.free.hold(one.is.Node, one.is.Place.OnNode(one.is.Requests), -1)
		p.deliver(one.is.Node, one.is.Place.Devices, 1)
	}
	p.book.DeletePod(one.is.UID)
}
