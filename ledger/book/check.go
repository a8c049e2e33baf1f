package book

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// Audit is a book as it stood at one moment, taken so that somebody else can add it
// up again while the book goes on. It shares with the book only what never changes.
type Audit struct {
	book    *Book // of the machines, rates and names of namespaces alone
	sums    running
	entries map[*Entry]*Entry // each with none of its pods counted
	pods    []pod
}

// running is the sums of a book as they were counted, change by change.
type running struct {
	usage    map[quota.Key]resource.Wide
	promises map[promiseKey]int64
	pending  map[*fit.Shape]int64
	others   sums // those of which there are few
}

// Audit takes what is to be added up; it costs no more than copying it.
func (b *Book) Audit() *Audit {
	a := &Audit{
		book: &Book{nodes: b.nodes.Frozen(), rates: b.rates, spaces: map[string]*space{}, rivalsFrom: b.rivalsFrom, perDevice: maps.Clone(b.perDevice)},
		sums: running{maps.Clone(b.usage), maps.Clone(b.promises), maps.Clone(b.pending), sums{}},
		pods: make([]pod, 0, len(b.pods)), entries: make(map[*Entry]*Entry, len(b.entries)+1),
	}
	for queue, in := range b.admitted {
		a.sums.others.add(int64(len(in)), "admitted", queue)
	}
	for e := range b.queued {
		a.sums.others.add(1, "queued", e.uid)
	}
	for e := range b.leaving {
		if e.goes() {
			a.sums.others.add(1, "going", e.uid)
		}
	}
	for e := range b.loose {
		for name, n := range b.looseAmount(e) {
			a.sums.others.add(n, "loose", e.uid, name)
		}
	}
	for namespace, s := range b.spaces {
		a.book.spaces[namespace] = nil
		for _, n := range s.pods {
			a.sums.others.add(n, "pods of namespace", namespace)
		}
		for e := range s.owed {
			a.sums.others.add(1, "owed in namespace", namespace, e.uid)
		}
	}
	for _, e := range b.entries {
		a.entries[e] = e.without()
		if len(e.sets) == 1 {
			a.sums.others.addLarger(e, e.sets[0].larger)
		}
	}
	a.entries[b.orphans] = b.orphans.without()
	for _, p := range b.pods {
		a.pods = append(a.pods, *p)
	}
	return a
}

// Check adds everything up again from what is known of each pod and Job, once, and
// lists, sorted, how the running sums differ from that: they never should.
func (a *Audit) Check() []string {
	return compare(a.counted(), a.addUp())
}

// SelfCheck is an audit at once.
func (b *Book) SelfCheck() error {
	if diffs := b.Audit().Check(); len(diffs) > 0 {
		return fmt.Errorf("the book's sums are off: %s", strings.Join(diffs, "; "))
	}
	return nil
}

// Diff lists, sorted, what two books disagree about; equal ones have nothing.
func (b *Book) Diff(other *Book) []string {
	return compare(b.Audit().counted(), other.Audit().counted())
}

// sums is the state of a book in a form that can be compared: what → amount.
type sums map[string]int64

func (a *Audit) counted() sums {
	s := maps.Clone(a.sums.others)
	for key, n := range a.sums.usage {
		s.add(n.Int64(), "charge", key.Queue, key.Flavor, key.Resource)
	}
	for key, n := range a.sums.promises {
		s.add(n, "promise", fmt.Sprintf("%x", key.shape.Key()), key.flavor)
	}
	for shape, n := range a.sums.pending {
		s.add(n, "rival", fmt.Sprintf("%x", shape.Key()))
	}
	for node, amounts := range a.book.nodes.Held() {
		for name, n := range amounts {
			s.add(n, "held", node, name)
		}
	}
	return s
}

func (s sums) add(n int64, what ...string) {
	if n != 0 {
		s[strings.Join(what, " ")] += n
	}
}

// addLarger adds what pods to come of a Job are counted by, if not by what was booked.
func (s sums) addLarger(e *Entry, larger resource.List) {
	for name, n := range larger {
		s.add(n, "pod to come", e.uid, name)
	}
}

// addUp makes the sums anew, from entries and pods one by one.
func (a *Audit) addUp() sums {
	s := sums{}
	for i := range a.pods {
		a.addPod(s, &a.pods[i])
	}
	b := a.book
	for _, e := range a.entries {
		for _, c := range b.chargesOf(e) {
			s.add(c.n, "charge", c.key.Queue, c.key.Flavor, c.key.Resource)
		}
		for _, p := range promisesOf(e) {
			s.add(p.n, "promise", fmt.Sprintf("%x", p.key.shape.Key()), p.key.flavor)
		}
		if len(e.sets) == 1 {
			s.addLarger(e, b.largerOf(e.sets[0].given, e.kinds))
		}
		if r := e.reservation(); r != nil {
			s.add(1, "admitted", r.Queue)
		}
		if job := e.Subject(); job != nil && e.unmade() > 0 {
			if _, limited := b.spaces[job.Namespace]; limited {
				s.add(1, "owed in namespace", job.Namespace, e.uid)
			}
		}
		if e.goes() {
			s.add(1, "going", e.uid)
		}
		if e.isQueued() {
			s.add(1, "queued", e.uid)
		}
		if e.isLoose() {
			for name, n := range b.looseAmount(e) {
				s.add(n, "loose", e.uid, name)
			}
		}
	}
	return s
}

// without is the entry with no pods counted.
func (e *Entry) without() *Entry {
	return &Entry{
		uid: e.uid, orphans: e.orphans, observed: e.observed, assumed: e.assumed, stopping: e.stopping,
		sets: slices.Clone(e.sets), parted: slices.Clone(e.parted), cut: e.cut, seen: e.seen,
	}
}

func (a *Audit) addPod(s sums, p *pod) {
	if p.node != "" {
		a.book.nodes.Each(p.holds, func(name string, n int64) { s.add(n, "held", p.node, name) })
	}
	if _, limited := a.book.spaces[p.namespace]; limited && !p.deleting {
		s.add(1, "pods of namespace", p.namespace)
	}
	e := a.entries[p.entry]
	switch free := e == nil || !e.isAdmitted(); {
	case free && p.nominated != "":
		a.book.nodes.Each(p.holds, func(name string, n int64) { s.add(n, "held", p.nominated, name) })
	case free && p.rival && p.priority >= a.book.rivalsFrom:
		s.add(1, "rival", fmt.Sprintf("%x", p.shape.Key()))
	}
	if e == nil {
		return
	}
	e.live++
	if p.deleting {
		e.deleting++
	}
	if p.node != "" && !p.deleting {
		e.active++
	}
	if p.charges() {
		e.group(p.tag).add(p, 1)
	}
	e.countKind(p, 1)
}

func compare(a, b sums) []string {
	var diffs []string
	for what, n := range a {
		if b[what] != n {
			diffs = append(diffs, fmt.Sprintf("%s: %d, added up %d", what, n, b[what]))
		}
	}
	for what, n := range b {
		if _, there := a[what]; !there {
			diffs = append(diffs, fmt.Sprintf("%s: 0, added up %d", what, n))
		}
	}
	slices.Sort(diffs)
	return diffs
}

// Usage is what is charged, for tests and audits.
func (b *Book) Usage() map[quota.Key]int64 {
	usage := make(map[quota.Key]int64, len(b.usage))
	for key, n := range b.usage {
		usage[key] = n.Int64()
	}
	return usage
}

// Nodes is the machines.
func (b *Book) Nodes() *fit.Nodes { return b.nodes }
