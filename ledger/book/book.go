package book

import (
	"maps"
	"math"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// Book is who holds what. One goroutine at a time.
type Book struct {
	nodes   *fit.Nodes
	ignored []string
	skip    map[string]bool // resource → is it ignored
	// perDevice is the resources that some policy so far counted for each device.
	perDevice map[string]bool
	table     map[string]map[string]int64
	rates     resource.Rates // of the table: what is charged instead of what
	entries   map[string]*Entry
	orphans   *Entry // pods that are charged and have no Job to ask
	pods      map[string]*pod
	who       map[string]who // of all pods
	leaves    func(pod string) (resource.List, bool)
	aparts    []demand.Apart // that are known, as they came
	tags      map[string]*tag
	usage     map[quota.Key]resource.Wide
	promises  map[promiseKey]int64
	pending   map[*fit.Shape]int64 // pods that nobody was promised anything for
	queued    map[*Entry]struct{}
	watched   map[*Entry]struct{}
	loose     map[*Entry]struct{}
	owing     map[*Entry]struct{}
	admitted  map[string]map[*Entry]struct{} // by queue
	leaving   map[*Entry]struct{}
	vains     map[*Entry]struct{} // who asked for machines that did not come
	inVain    map[inVain]int64    // until when nobody asks for such again
	spaces    map[string]*space   // namespaces with ResourceQuotas
	// spaceNews is the last version that one of them got.
	spaceNews  int64
	rivalsFrom int64 // the least priority of rivals
	timed      timed
	now        int64       // as of the last Tick
	unheard    []string    // UIDs of pods that the scheduler said nothing of yet, as they came
	lost       []*Entry    // that came short of pods since then
	cuts       []*Entry    // that were deleted, as they were
	differ     []differing // whose pods ask for more than was booked, and nobody was told
	journal    journal
	key        []byte   // scratch
	names      []string // scratch
}

type promiseKey struct {
	shape  *fit.Shape
	flavor string
}

// New returns an empty book.
func New() *Book {
	b := &Book{
		nodes: fit.New(),
		skip:  map[string]bool{}, perDevice: map[string]bool{},
		spaces:  map[string]*space{},
		entries: map[string]*Entry{}, orphans: &Entry{orphans: true},
		pods: map[string]*pod{}, who: map[string]who{}, tags: map[string]*tag{},
		usage:    map[quota.Key]resource.Wide{},
		promises: map[promiseKey]int64{}, pending: map[*fit.Shape]int64{},
		queued: map[*Entry]struct{}{}, watched: map[*Entry]struct{}{}, loose: map[*Entry]struct{}{}, owing: map[*Entry]struct{}{},
		admitted: map[string]map[*Entry]struct{}{}, leaving: map[*Entry]struct{}{},
		vains: map[*Entry]struct{}{}, rivalsFrom: math.MinInt64,
	}
	return b
}

// SetNode brings in a node, new or changed.
func (b *Book) SetNode(n *supply.Node) { b.nodes.SetNode(n) }

// SetDevices brings in what a node has of what is counted for claims. Not from its
// pods, so no check of the book against them speaks of it.
func (b *Book) SetDevices(d supply.Devices) { b.nodes.SetDevices(d) }

// AskGives has the book ask what of such rows a bound pod leaves when it is gone, by its
// UID; what is not known is what the pod says itself.
func (b *Book) AskGives(of func(pod string) (rows resource.List, known bool)) { b.leaves = of }

// SetCosts brings in what these rows can cost each other.
func (b *Book) SetCosts(costs []supply.Cost) { b.nodes.SetCosts(costs) }

// SetExtended brings in which resources nodes without a plugin give out of such a row.
func (b *Book) SetExtended(rows map[string]string) { b.nodes.SetExtended(rows) }

// DeleteNode takes a node away; pods bound there stay charged while they exist.
func (b *Book) DeleteNode(name string) { b.nodes.DeleteNode(name) }

// SetJob brings in a Job, new or changed. The caller sees to it that an older
// object never follows a newer one.
func (b *Book) SetJob(j *demand.Job) {
	for i := range j.PodSets {
		b.learn(j.PodSets[i].Place.Apart)
	}
	e := b.entry(j.UID)
	e.observed = j
	if j.Deleting {
		b.cut(e)
	}
	if made := j.Preempted; made != nil && b.startedSince(made) {
		e.served = made.Time
	}
	b.reform(e)
	switch {
	case j.Finished && j.Reservation != nil:
		b.serve(j.UID, math.MaxInt64) // seen for the first time after its end
	case j.Preempted != nil:
		b.serve(j.UID, j.Preempted.Time) // or after it had made room itself
	}
}

// DeleteJob takes a Job away, with what was assumed of it. What its pods hold
// stays charged until they are gone.
func (b *Book) DeleteJob(uid string) {
	if e := b.entries[uid]; e != nil {
		b.cut(e)
		assumed := e.assumed
		e.observed, e.assumed, e.evicted, e.stopping = nil, nil, nil, false
		b.reform(e)
		if assumed != nil {
			b.keepAgain(assumed)
		}
		b.dropEmpty(e)
	}
}

// Assume counts a Job as admitted by r from now on, before anything is written.
func (b *Book) Assume(j *demand.Job, r demand.Reservation) {
	e := b.entry(j.UID)
	e.assumed = &assumption{job: j, reservation: r}
	e.begin()
	e.fresh = true
	b.reform(e)
}

// Evict notes, before anything is written, that a Job is to make room for another.
func (b *Book) Evict(p demand.Preempted) {
	e := b.entry(p.UID)
	e.evicted = &p
	b.refresh(e)
}

// Stop notes, before anything is written, that a Job is to be taken back for nobody.
func (b *Book) Stop(uid string) {
	e := b.entry(uid)
	e.stopping = true
	b.refresh(e)
}

// Forget ends an assumption whose write certainly did not happen.
func (b *Book) Forget(uid string) { b.endAssumption(uid) }

// Settle ends an assumption because SetJob has brought the written object, or a
// newer one: from now on what is observed counts.
func (b *Book) Settle(uid string) { b.endAssumption(uid) }

func (b *Book) endAssumption(uid string) {
	if e := b.entries[uid]; e != nil && (e.assumed != nil || e.evicted != nil || e.stopping) {
		assumed := e.assumed
		e.assumed, e.evicted, e.stopping = nil, nil, false
		b.reform(e)
		if assumed != nil && !e.isAdmitted() {
			b.keepAgain(assumed)
		}
		b.dropEmpty(e)
	}
}

// Job returns a Job as it was last observed, nil if there is none.
func (b *Book) Job(uid string) *demand.Job {
	if e := b.entries[uid]; e != nil {
		return e.observed
	}
	return nil
}

// SetRules says which resources nodes need not have, and what is charged instead of
// what. Everything that was counted by other rules is counted again.
func (b *Book) SetRules(rules policies.ResourceRules) {
	ignored := !equalText(b.ignored, rules.Ignored)
	if !ignored && sameTable(b.table, rules.Conversions) {
		return
	}
	b.table, b.rates = rules.Conversions, resource.NewRates(rules.Conversions)
	b.ignored, b.skip = append([]string(nil), rules.Ignored...), map[string]bool{}
	for _, e := range b.entries {
		b.price(e.parted)
		b.reform(e)
	}
	b.refresh(b.orphans)
	if ignored {
		b.reshape()
	}
}

// Follow has the book go by a catalog: its rules, and the machines that may be added.
func (b *Book) Follow(catalog *policies.Catalog) {
	for name := range catalog.Resources.PerDevice {
		b.perDevice[name] = true
	}
	b.SetRules(catalog.Resources)
	b.setRivals(catalog.Rivals)
	b.nodes.SetElastic(supply.ElasticOf(catalog))
}

// setRivals says which of the pods count that are not bound, and promised nothing.
func (b *Book) setRivals(rules policies.Rivals) {
	from := int64(math.MinInt64)
	if rules.FromPriority != nil {
		from = *rules.FromPriority
	}
	if from == b.rivalsFrom {
		return
	}
	b.eachFree(func(p *pod) { b.stand(p, -1) })
	b.rivalsFrom = from
	b.eachFree(func(p *pod) { b.stand(p, 1) })
}

// eachFree calls f for every pod that is on no node, and that nobody was promised room for.
func (b *Book) eachFree(f func(p *pod)) {
	for _, p := range b.pods {
		if p.shape != nil && (p.entry == nil || !p.entry.isAdmitted()) {
			f(p)
		}
	}
}

// reshape counts pods that are on no node again, by what nodes need not have.
func (b *Book) reshape() {
	for _, p := range b.pods {
		if p.shape == nil {
			continue
		}
		b.count(p, -1)
		b.nodes.Let(p.shape)
		p.shape = b.nodes.Keep(b.nodes.Shape(p.shape.Place(), b.list(p.req), b.isIgnored))
		b.count(p, 1)
	}
}

func (b *Book) isIgnored(name string) bool {
	skip, known := b.skip[name]
	if !known {
		// A queue without quota limits nothing, so the lists alone decide.
		rules := policies.Catalog{Resources: policies.ResourceRules{Ignored: b.ignored}}
		skip = rules.ResourceClass(policies.Queue{}, name) == policies.Ignored
		b.skip[name] = skip
	}
	return skip
}

func (b *Book) entry(uid string) *Entry {
	e := b.entries[uid]
	if e == nil {
		e = &Entry{uid: uid}
		b.entries[uid] = e
	}
	return e
}

func (b *Book) dropEmpty(e *Entry) {
	if !e.orphans && e.observed == nil && e.assumed == nil && e.live == 0 && !e.isCut() {
		b.unform(e)
		b.letSets(e.parted)
		e.parted = nil
		b.journal.entries.add(e)
		delete(b.entries, e.uid)
	}
}

func sameTable(a, b map[string]map[string]int64) bool {
	return maps.EqualFunc(a, b, maps.Equal)
}

func equalText(a, c []string) bool {
	if len(a) != len(c) {
		return false
	}
	for i := range a {
		if a[i] != c[i] {
			return false
		}
	}
	return true
}
