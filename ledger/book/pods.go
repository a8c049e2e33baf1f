package book

import (
	"slices"
	"time"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// pod is what the book keeps of a pod: pointers to what it shares with others.
// Comparable, so that an update which changes nothing is seen at once.
type pod struct {
	uid   string
	entry *Entry      // of its Job; nil if nobody is charged for it
	req   *fit.Vector // what it is charged for
	holds *fit.Vector // what its node has less
	gives *fit.Vector // what its node has more once it is gone: devices of claims, too
	tag   *tag
	node  string
	// What ResourceQuotas of its namespace look at, too.
	namespace string
	limits    *fit.Vector
	terms     demand.Terms
	shape     *fit.Shape // where it may land; nil once it is bound
	// nominated is the node whose room the scheduler keeps for it, though it is not bound.
	nominated string
	// rival: it may be bound at any moment and take room that way, wherever it is.
	rival         bool
	priority      int64 // of one that is not bound
	deleting      bool
	deletingSince int64 // when it was told to go; 0: not known
	since         int64 // when it came to its node
	ready         bool
	started       bool // a kubelet has taken it in
	unschedulable int64
	unheardTill   int64 // how long it is a rival if no scheduler says a word of it
}

// unheardMax is how long the scheduler may take to say something of a pod. One
// that it leaves alone for longer is another scheduler's that may not even be
// there, or lacks what it has to have before it is looked at; such a pod would
// keep machines from everybody for good.
const unheardMax = int64(2 * time.Minute)

// unheard: it might be bound at any moment, for all that anybody said.
func (p *pod) unheard() bool { return p.rival && p.unschedulable == 0 }

// charges tells whether a quota is charged for what the pod holds. Whom to charge
// is written on every pod of an admission. One that says nothing counts once a
// kubelet has taken it in: anybody can make pods that name his Job and never run.
func (p *pod) charges() bool { return p.tag != nil || p.started }

// tag is what an admission wrote on pods: whom to charge.
type tag struct {
	queue   string
	flavors map[string]string
	key     string
	refs    int
}

// SetPod brings in a pod that is not terminal, new or changed.
func (b *Book) SetPod(p *supply.Pod) {
	b.learn(p.Place.Apart)
	b.who[p.UID] = who{p.Namespace, p.Name, p.Labels}
	now, was := b.read(p), b.pods[p.UID]
	if was != nil && *was == now {
		b.discard(&now)
		return
	}
	if was != nil {
		b.count(was, -1)
	}
	kept := &now
	b.pods[p.UID] = kept
	if kept.unheard() && (was == nil || !was.unheard()) {
		b.unheard = append(b.unheard, p.UID)
	}
	if e := kept.entry; e != nil && (was == nil || was.entry != e) {
		e.seen++
	}
	b.count(kept, 1)
	b.refresh(kept.entry)
	if was != nil {
		if was.entry != kept.entry {
			b.left(was.entry)
		}
		b.discard(was)
	}
}

// DeletePod takes away a pod that is gone or terminal.
func (b *Book) DeletePod(uid string) {
	p := b.pods[uid]
	if p == nil {
		return
	}
	delete(b.pods, uid)
	delete(b.who, uid)
	b.count(p, -1)
	if p.entry != nil && p.node != "" {
		p.entry.gone++
	}
	b.left(p.entry)
	b.discard(p)
}

// left settles an entry that lost a pod.
func (b *Book) left(e *Entry) {
	b.refresh(e)
	if e != nil {
		b.dropEmpty(e)
	}
}

// read makes the facts of a pod; discard gives back what they refer to.
func (b *Book) read(p *supply.Pod) pod {
	place := b.placed(who{namespace: p.Namespace, labels: p.Labels}, p.Place)
	holds := place.OnNode(p.Requests)
	facts := pod{
		uid: p.UID, namespace: p.Namespace, limits: b.nodes.Vector(p.Limits), terms: p.Terms, req: b.nodes.Vector(p.Requests), holds: b.nodes.Holding(holds, place.Once), gives: b.nodes.Holding(joined(holds, place.Devices), place.Once), node: p.Node,
		deleting: p.Deleting, deletingSince: p.DeletingSince, since: p.BoundSince, ready: p.Ready, started: p.Started,
	}
	if p.Queue != "" && len(p.Flavors) > 0 {
		facts.tag = b.tag(p.Queue, p.Flavors)
	}
	switch {
	case p.JobUID != "":
		facts.entry = b.entry(p.JobUID)
	case facts.tag != nil:
		facts.entry = b.orphans
	}
	if p.Node == "" {
		facts.shape = b.nodes.Keep(b.nodes.Shape(place, p.Requests, b.isIgnored))
		facts.unschedulable, facts.priority = p.UnschedulableSince, p.Priority
		// The scheduler found no node for it, for a reason that is not counted
		// here: it would hold room for good that it can't use.
		stuck := p.UnschedulableSince != 0 && len(p.Place.Unverified) > 0
		if !p.Deleting {
			facts.nominated = p.Nominated
		}
		facts.rival = !p.Gated && !p.Deleting && !stuck && facts.nominated == ""
		facts.unheardTill = p.Created + unheardMax
		if facts.unheard() && facts.unheardTill <= b.now {
			facts.rival = false
		}
	}
	return facts
}

func joined(a, c resource.List) resource.List {
	if len(c) == 0 {
		return a
	}
	all := make(resource.List, len(a)+len(c))
	all.AddTo(a, 1)
	all.AddTo(c, 1)
	return all
}

func (b *Book) discard(p *pod) {
	b.nodes.Drop(p.req)
	b.nodes.Drop(p.holds)
	b.nodes.Drop(p.gives)
	b.nodes.Drop(p.limits)
	if p.shape != nil {
		b.nodes.Let(p.shape)
	}
	if p.tag != nil {
		if p.tag.refs--; p.tag.refs == 0 {
			delete(b.tags, p.tag.key)
		}
	}
}

// count adds a pod to the sums, or takes it off; refresh follows.
func (b *Book) count(p *pod, sign int64) {
	if p.node != "" {
		if sign > 0 {
			b.nodes.Hold(p.node, p.holds)
		} else {
			b.nodes.Free(p.node, p.holds)
		}
	}
	b.countInSpace(p, sign)
	e := p.entry
	if e == nil || !e.isAdmitted() {
		b.stand(p, sign)
	}
	if e == nil {
		return
	}
	e.live += sign
	if p.deleting {
		e.deleting += sign
	}
	if p.node == "" {
		e.setUnbound(p, sign > 0)
	} else {
		e.setBound(p, sign)
	}
	if p.ready && !p.deleting {
		e.readyPods += sign
	}
	if p.charges() {
		e.group(p.tag).add(p, sign)
	}
	e.countKind(p, sign)
}

// Tick tells the book the time. It returns when time alone changes something
// next, or 0.
func (b *Book) Tick(now int64) int64 {
	b.now = now
	for _, e := range b.lost {
		if e.short.is && e.short.since == 0 {
			e.short.since = now
		}
	}
	b.lost = nil
	return demand.Shorter(demand.Shorter(b.endCuts(), b.endUnheard()), b.endVain())
}

// endUnheard has pods be nobody's rivals that no scheduler has said a word of for long.
// It returns when that is so of the next one, or 0.
func (b *Book) endUnheard() int64 {
	for len(b.unheard) > 0 {
		first := b.unheard[0]
		p := b.pods[first]
		if p != nil && p.unheard() && p.unheardTill > b.now {
			return p.unheardTill
		}
		b.unheard = b.unheard[1:]
		if p == nil || !p.unheard() {
			continue
		}
		b.count(p, -1)
		p.rival = false
		b.count(p, 1)
	}
	b.unheard = nil
	return 0
}

// stand counts what a pod may take that is not bound, and that nobody was promised
// room for.
func (b *Book) stand(p *pod, sign int64) {
	switch {
	case p.nominated != "" && sign > 0:
		b.nodes.Hold(p.nominated, p.holds)
	case p.nominated != "":
		b.nodes.Free(p.nominated, p.holds)
	case p.rival && p.priority >= b.rivalsFrom:
		b.rival(p.shape, sign)
	}
}

func (b *Book) rival(s *fit.Shape, sign int64) {
	if b.pending[s] += sign; b.pending[s] == 0 {
		delete(b.pending, s)
	}
}

func (b *Book) tag(queue string, flavors map[string]string) *tag {
	b.names = b.names[:0]
	for name := range flavors {
		b.names = append(b.names, name)
	}
	slices.Sort(b.names)
	b.key = append(b.key[:0], queue...)
	for _, name := range b.names {
		b.key = append(append(append(append(b.key, 0), name...), 0), flavors[name]...)
	}
	t := b.tags[string(b.key)]
	if t == nil {
		t = &tag{queue: queue, flavors: flavors, key: string(b.key)}
		b.tags[t.key] = t
	}
	t.refs++
	return t
}

func (b *Book) list(v *fit.Vector) resource.List {
	list := resource.List{}
	b.nodes.Each(v, func(name string, n int64) { list[name] = n })
	return list
}
