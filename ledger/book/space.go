package book

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/nsquota"
	"github.com/holdshort/holdshort/ledger/resource"
)

// space is a namespace with ResourceQuotas, and what its pods take of them.
type space struct {
	quotas []*nsquota.Quota // by name
	pods   map[alike]int64  // that are there, and were not told to go
	owed   map[*Entry]struct{}
	// version is another one whenever something else may be left of the quotas.
	version int64
}

// touch has whoever waits for a namespace look again.
func (b *Book) touch(s *space) {
	b.spaceNews++
	s.version = b.spaceNews
}

// alike is pods that take the same of every ResourceQuota.
type alike struct {
	req, limits *fit.Vector
	terms       demand.Terms
	shape       *fit.Shape // nil: they are on nodes
}

// SetNamespaceQuota brings in a ResourceQuota, new or changed.
func (b *Book) SetNamespaceQuota(q *nsquota.Quota) {
	s := b.spaces[q.Namespace]
	if s == nil {
		s = b.newSpace(q.Namespace)
	}
	at, found := slices.BinarySearchFunc(s.quotas, q.Name, byName)
	if found {
		s.quotas[at] = q
	} else {
		s.quotas = slices.Insert(s.quotas, at, q)
	}
	b.touch(s)
}

// DeleteNamespaceQuota takes one away.
func (b *Book) DeleteNamespaceQuota(namespace, name string) {
	s := b.spaces[namespace]
	if s == nil {
		return
	}
	if at, found := slices.BinarySearchFunc(s.quotas, name, byName); found {
		s.quotas = slices.Delete(s.quotas, at, at+1)
		b.touch(s)
	}
	if len(s.quotas) == 0 {
		delete(b.spaces, namespace)
	}
}

func byName(q *nsquota.Quota, name string) int { return cmp.Compare(q.Name, name) }

// newSpace counts what is there by now. Namespaces without any quota are not counted.
func (b *Book) newSpace(namespace string) *space {
	s := &space{pods: map[alike]int64{}, owed: map[*Entry]struct{}{}}
	b.spaces[namespace] = s
	for _, p := range b.pods {
		if p.namespace == namespace {
			b.countInSpace(p, 1)
		}
	}
	for _, e := range b.entries {
		b.owe(e)
	}
	return s
}

// emptySpaces has them count nobody, until all are counted again.
func (b *Book) emptySpaces() {
	for _, s := range b.spaces {
		s.pods, s.owed = map[alike]int64{}, map[*Entry]struct{}{}
		b.touch(s)
	}
}

// countInSpace leaves out pods that were told to go: those that the API server still counts
// are in what it says is used, and one that never goes, on a node that is lost, is not.
func (b *Book) countInSpace(p *pod, sign int64) {
	s := b.spaces[p.namespace]
	if s == nil || p.deleting {
		return
	}
	b.touch(s)
	key := alike{p.req, p.limits, p.terms, p.shape}
	if s.pods[key] += sign; s.pods[key] == 0 {
		delete(s.pods, key)
	}
}

// owe notes whether pods of an admitted Job are still to be made.
func (b *Book) owe(e *Entry) {
	if len(b.spaces) == 0 || e.orphans {
		return
	}
	if job := e.Subject(); job != nil {
		if s := b.spaces[job.Namespace]; s != nil {
			_, owed := s.owed[e]
			owes := e.unmade() > 0
			member(s.owed, e, owes)
			if owed || owes {
				b.touch(s)
			}
		}
		return
	}
	for _, s := range b.spaces {
		if _, owed := s.owed[e]; owed {
			delete(s.owed, e)
			b.touch(s)
		}
	}
}

// unmade is how many pods of an admitted Job its controller has yet to make.
func (e *Entry) unmade() int64 {
	if !e.isAdmitted() {
		return 0
	}
	return max(0, e.Wanted()-(e.live-e.deleting))
}

// NamespaceQuota is a ResourceQuota and what is used of each of its rows: by the word of
// the API server, or more where pods of it were seen before that, and with the pods that
// admitted Jobs are yet to have. nsquota.Unknown is not counted yet.
type NamespaceQuota struct {
	*nsquota.Quota
	Used []int64
}

// NamespaceVersion is another one whenever something else may be left of a namespace's
// ResourceQuotas; 0: it has none.
func (s *Snapshot) NamespaceVersion(namespace string) int64 {
	if space := s.b.spaces[namespace]; space != nil {
		return space.version
	}
	return 0
}

// NamespaceQuotas of a namespace, by name.
func (s *Snapshot) NamespaceQuotas(namespace string) []NamespaceQuota {
	space := s.b.spaces[namespace]
	if space == nil {
		return nil
	}
	all := make([]NamespaceQuota, len(space.quotas))
	for i, q := range space.quotas {
		all[i] = NamespaceQuota{q, make([]int64, len(q.Rows))}
	}
	for pods, n := range space.pods {
		pod := nsquota.Pod{Requests: s.b.list(pods.req), Limits: s.b.list(pods.limits), Terms: pods.terms, Draws: s.b.draws(pods.shape, pods.terms.Drawn)}
		for i := range all {
			all[i].Take(&pod, n)
		}
	}
	for i := range all {
		for k := range all[i].Rows {
			if used := all[i].Rows[k].Used; used == nsquota.Unknown {
				all[i].Used[k] = used
			} else {
				all[i].Used[k] = max(all[i].Used[k], used)
			}
		}
	}
	for e := range space.owed {
		s.b.addOwed(all, e)
	}
	return all
}

// addOwed adds the pods that an admitted Job is yet to have: of several sets, those that
// come last are the ones that are not made.
func (b *Book) addOwed(all []NamespaceQuota, e *Entry) {
	left := e.unmade()
	for i := len(e.sets) - 1; i >= 0 && left > 0; i-- {
		set := &e.sets[i]
		pods := min(left, set.count)
		left -= pods
		asked := podSet(e.Subject(), set.given.Name, i)
		if asked == nil {
			continue
		}
		_, limits := asked.Each()
		pod := nsquota.Pod{Requests: set.asks(), Limits: limits, Terms: asked.Terms, Draws: b.draws(set.shape, "")}
		for k := range all {
			all[k].Take(&pod, pods)
		}
	}
}

// draws tells of which resources pods get what they ask for out of devices, or might: of
// pods that are on nodes, it is on them.
func (b *Book) draws(shape *fit.Shape, drawn string) func(string) bool {
	return func(name string) bool {
		if shape != nil {
			return b.nodes.Source(shape, name).Draws()
		}
		return slices.Contains(strings.Split(drawn, ","), name)
	}
}

// Take adds what so many pods take, if they count.
func (q *NamespaceQuota) Take(pod *nsquota.Pod, pods int64) {
	if !q.Covers(pod.Terms) {
		return
	}
	for k := range q.Rows {
		if q.Used[k] != nsquota.Unknown {
			q.Used[k] = resource.Add(q.Used[k], resource.Mul(q.Rows[k].Takes(pod), pods))
		}
	}
}

// termsOf is terms and limits of all sets, written down.
func termsOf(sets []FormSet) string {
	var all []byte
	for i := range sets {
		t := sets[i].Set.Terms
		all = append(strconv.AppendQuote(strconv.AppendQuote(all, t.PriorityClass), string(t.Claims)), byte(t.Unset))
		all = strconv.AppendBool(strconv.AppendBool(strconv.AppendBool(all, t.Terminating), t.Compute), t.CrossNamespace)
		for _, name := range sets[i].Set.Limits.Names() {
			all = binary.AppendVarint(strconv.AppendQuote(all, name), sets[i].Set.Limits[name])
		}
	}
	return string(all)
}
