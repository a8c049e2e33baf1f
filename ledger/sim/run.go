package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

const (
	// roundsMax is the most plans in a row that change something at one moment.
	roundsMax = 100
	// momentsMax is the most moments of a run.
	momentsMax = 200_000
	// asksMax is how often a plan may ask.
	asksMax = 100
)

// run is the state of a world while time passes.
type run struct {
	World
	book     *book.Book
	chance   chance
	now      int64
	events   []event // the next one last
	seq      int64
	wake     int64 // when the plan changes by itself; 0: never
	jobs     map[string]*job
	pending  []*pod // not bound, in the order in which the scheduler heard of them
	nodes    map[string]*supply.Node
	held     map[string]resource.List // by node
	coming   []*coming                // machines, as they were asked for
	added    int                      // so many were
	verdicts map[string]decide.Outcome
	busy     map[string]bool
	log      Log

	had, used map[string]float64 // over time
}

type event struct {
	at, seq int64
	do      func()
}

// Run lets a world run until nothing is left to happen.
func Run(w World) (*Log, error) {
	r := &run{
		World: w, book: book.New(), chance: chance(w.Seed),
		jobs: map[string]*job{}, nodes: map[string]*supply.Node{}, held: map[string]resource.List{},
		verdicts: map[string]decide.Outcome{}, busy: map[string]bool{},
		had: map[string]float64{}, used: map[string]float64{},
		log: Log{
			Waiting: map[string]reason.Reason{},
			Metrics: Metrics{Wait: map[string]int64{}, Use: map[string]float64{}},
		},
	}
	if w.Catalog != nil {
		r.book.Follow(w.Catalog)
	}
	for i := range w.Changes {
		c := &w.Changes[i]
		r.at(c.At, func() { r.change(c) })
	}
	if len(r.events) > 0 {
		r.now = r.events[len(r.events)-1].at
		r.log.Metrics.Began = r.now
	}
	err := r.pass()
	r.close()
	return &r.log, err
}

func (r *run) pass() error {
	for range momentsMax {
		then, ok := r.next()
		if !ok || r.Until > 0 && then > r.Until {
			return nil
		}
		r.measure(then)
		r.now = then
		for len(r.events) > 0 && r.events[len(r.events)-1].at <= r.now {
			last := len(r.events) - 1
			do := r.events[last].do
			r.events = r.events[:last]
			do()
		}
		r.schedule()
		r.autoscale()
		if r.Go != nil {
			if err := r.Go(); err != nil {
				return err
			}
		}
		if err := r.decide(); err != nil {
			return err
		}
	}
	return fmt.Errorf("the run does not end: %d moments, %d evictions. Try: look at the last records for who displaces whom", momentsMax, r.log.Metrics.Evicted)
}

// next is when something happens again, false if nothing ever does.
func (r *run) next() (int64, bool) {
	n := len(r.events)
	switch {
	case n == 0 && r.wake == 0:
		return 0, false
	case n == 0:
		return r.wake, true
	case r.wake == 0:
		return r.events[n-1].at, true
	}
	return min(r.events[n-1].at, r.wake), true
}

// at has something happen, after all that happens at the same moment by now.
func (r *run) at(when int64, do func()) {
	r.seq++
	e := event{max(when, r.now), r.seq, do}
	i, _ := slices.BinarySearchFunc(r.events, e, func(a, b event) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.seq, a.seq))
	})
	r.events = slices.Insert(r.events, i, e)
}

// after has something happen within a time.
func (r *run) after(most int64, do func()) {
	r.at(r.now+r.chance.below(most+1), do)
}

// decide plans until a plan wants nothing done any more.
func (r *run) decide() error {
	overdue := r.book.Tick(r.now)
	r.refresh()
	for round := 1; round <= roundsMax; round++ {
		in, plan := r.plan()
		if r.Observe != nil {
			r.Observe(r.moment(in, plan, round))
		}
		for _, s := range plan.Suspend {
			r.suspend(s)
		}
		for _, a := range plan.Admit {
			r.admit(a)
		}
		if len(plan.Admit)+len(plan.Suspend) > 0 {
			continue
		}
		r.explain(plan.Waiting)
		r.wake = plan.WakeAt
		if r.Rules.Every > 0 && len(plan.Waiting) > 0 {
			r.wakeBy(r.now - r.now%r.Rules.Every + r.Rules.Every)
		}
		r.wakeBy(overdue)
		return nil
	}
	return fmt.Errorf("at %d: %d plans in a row change something. Try: look at the last records", r.now, roundsMax)
}

func (r *run) wakeBy(at int64) {
	if at > 0 && (r.wake == 0 || at < r.wake) {
		r.wake = at
	}
}

// refresh asks for the catalog, as it is now.
func (r *run) refresh() {
	if r.Rules.Catalog == nil {
		return
	}
	catalog, again := r.Rules.Catalog(r.now, func(catalog *policies.Catalog) policies.CatalogCapacity {
		return decide.Stock(r.book.Snapshot(), catalog)
	})
	if catalog != nil && catalog != r.Catalog {
		r.Catalog = catalog
		r.book.Follow(catalog)
	}
	for _, uid := range sorted(r.jobs) {
		if j := r.jobs[uid]; again && !j.gone && !j.is.Admitted() {
			r.judge(j)
		}
	}
}

// plan asks the rules until the core has nothing left to ask.
func (r *run) plan() (decide.Input, decide.Result) {
	in := decide.Input{
		Options: r.Options, Snapshot: r.book.Snapshot(), Catalog: r.Catalog, Revision: "sim", Namespaces: r.Namespaces,
		Verdicts: r.verdicts, Holds: map[string]decide.HoldAnswer{}, AskHold: r.Rules.Hold != nil, Busy: r.busy, Now: r.now,
		Since: r.log.Metrics.Began, Protects: map[decide.Displacement]decide.ProtectAnswer{}, AskProtect: r.Rules.Protect != nil,
	}
	plan := decide.Plan(in)
	for range asksMax {
		if len(plan.Asks)+len(plan.AskProtect) == 0 {
			break
		}
		for _, ask := range plan.AskProtect {
			in.Protects[ask.Displacement] = r.Rules.Protect(ask, r.now)
		}
		for _, uid := range plan.Asks {
			in.Holds[uid] = r.Rules.Hold(Question{r.jobs[uid].Workload, plan.AskUsage[uid], plan.AskCapacity, r.now})
		}
		plan = decide.Plan(in)
	}
	return in, plan
}

// explain notes why those wait who do.
func (r *run) explain(waiting []decide.Waiting) {
	for i := range waiting {
		j := r.jobs[waiting[i].UID]
		was := j.waits
		j.waits = waiting[i].Reason
		if j.waits.Code != was.Code || j.waits.PolicyCode != was.PolicyCode {
			r.record(Record{Kind: Waits, UID: j.UID, Code: j.waits.Code, Reason: j.waits})
		}
	}
}

func (r *run) moment(in decide.Input, plan decide.Result, round int) Moment {
	m := Moment{Input: in, Plan: plan, Book: r.book, Round: round}
	for _, uid := range sorted(r.jobs) {
		j := r.jobs[uid]
		if !j.gone {
			m.Jobs = append(m.Jobs, j.is)
		}
		for _, p := range j.pods {
			m.Pods = append(m.Pods, p.is)
		}
	}
	for _, name := range sorted(r.nodes) {
		m.Nodes = append(m.Nodes, r.nodes[name])
	}
	return m
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
