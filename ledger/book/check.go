package book

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
)

// SelfCheck adds everything up again from what is known of each pod and Job,
// and returns how the running sums differ from that: they never should.
func (b *Book) SelfCheck() error {
	again := b.addUp()
	if diffs := compare(b.sums(), again); len(diffs) > 0 {
		return fmt.Errorf("the book's sums are off: %s", strings.Join(diffs, "; "))
	}
	return nil
}

// Diff lists, sorted, what two books disagree about; equal ones have nothing.
func (b *Book) Diff(other *Book) []string { return compare(b.sums(), other.sums()) }

// sums is the state of a book in a form that can be compared: what → amount.
type sums map[string]int64

func (b *Book) sums() sums {
	s := sums{}
	for key, n := range b.Usage() {
		s.add(n, "charge", key.Queue, key.Flavor, key.Resource)
	}
	for key, n := range b.promises {
		s.add(n, "promise", fmt.Sprintf("%x", key.shape.Key()), key.flavor)
	}
	for shape, n := range b.pending {
		s.add(n, "rival", fmt.Sprintf("%x", shape.Key()))
	}
	for node, amounts := range b.nodes.Held() {
		for name, n := range amounts {
			s.add(n, "held", node, name)
		}
	}
	for queue, in := range b.admitted {
		s.add(int64(len(in)), "admitted", queue)
	}
	for e := range b.queued {
		s.add(1, "queued", e.uid)
	}
	for e := range b.leaving {
		if e.goes() {
			s.add(1, "going", e.uid)
		}
	}
	for e := range b.loose {
		for name, n := range b.looseAmount(e) {
			s.add(n, "loose", e.uid, name)
		}
	}
	return s
}

func (s sums) add(n int64, what ...string) {
	if n != 0 {
		s[strings.Join(what, " ")] += n
	}
}

// addUp makes the sums anew, from entries and pods one by one.
func (b *Book) addUp() sums {
	s := sums{}
	groups := map[*Entry]*Entry{} // each entry with its pods counted anew
	for _, e := range b.entries {
		groups[e] = e.without()
	}
	groups[b.orphans] = b.orphans.without()
	for _, p := range b.pods {
		b.addPod(s, groups, p)
	}
	for _, e := range groups {
		for _, c := range b.chargesOf(e) {
			s.add(c.n, "charge", c.key.Queue, c.key.Flavor, c.key.Resource)
		}
		for _, p := range promisesOf(e) {
			s.add(p.n, "promise", fmt.Sprintf("%x", p.key.shape.Key()), p.key.flavor)
		}
		if r := e.reservation(); r != nil {
			s.add(1, "admitted", r.Queue)
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
		sets: e.sets, parted: e.parted, cut: e.cut, seen: e.seen,
	}
}

func (b *Book) addPod(s sums, groups map[*Entry]*Entry, p *pod) {
	if p.node != "" {
		b.nodes.Each(p.holds, func(name string, n int64) { s.add(n, "held", p.node, name) })
	}
	e := groups[p.entry]
	if p.rival && (e == nil || !e.isAdmitted()) {
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
