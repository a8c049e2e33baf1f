package decide

import (
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// class is queued Jobs that are alike to quota and machines: same queue, same
// pods, same flavors allowed. What holds for one holds for all, so a thousand of
// them cost one look.
type class struct {
	key    classKey
	line   *line
	form   *book.Form
	sets   []ask
	shapes []placed        // worked out so far
	never  []reason.Reason // why it is not in line at all
	items  []*item         // in line, in order
	jobs   int             // in line or not
	custom bool            // some have an order of their own

	// failed did not fit; nor will who comes after it, until something changes.
	failed   *item
	machines bool // machines had to do with it
	shut     bool // might says so, of a simple one
	lends    bool // it can displace nobody, and keeps what is its queue's own
	hint     int  // the offer of which something was freed last

	next   int   // of items
	at     *item // the next that has a turn, when somebody looked last
	passed bool  // it can never start, and a strict line does not stop for it

	code reason.Code // why it waits; empty if that is to be found out
	told reason.Code // as far as that was told
	anew bool        // while it is told: everybody may wait for something else
	// watched: it is in line.watched.
	watched bool
	// Codes that stand as long as the machines are the same: when it was shut last,
	// and when it was not tried.
	shutCode, idleCode reason.Code
	shutHave, idleHave uint64
	// How machines give resources of its sets, as long as those are the same.
	sources     map[setResource]fit.Source
	sourcesHave uint64
	answer      *answer // why it waits in full
	answered    int64   // by which plan
}

type classKey struct {
	line  *line
	form  book.FormKey
	allow string
}

// simple: it has one flavor to find, so that nothing hangs on another.
func (c *class) simple() bool { return len(c.sets) == 1 && len(c.sets[0].parts) == 1 }

// lacksMachines notes that machines had to do with it that a class does not fit.
func (c *class) lacksMachines() { c.machines, c.line.machines = true, true }

// ask is one pod set: what it wants of each group of resources.
type ask struct {
	count, least int64
	parts        []part
}

// part is the limited resources of one group, which get one flavor together.
type part struct {
	wants  []want
	offers []offer // flavors it may have, in order
}

type want struct {
	resource string
	perPod   int64
}

type offer struct {
	flavor string
	pairs  []quota.PairID // for each want
	clash  *reason.Reason // why its machines are not for these pods
}

func (p *planner) classOf(it *item) *class {
	key := classKey{line: it.line, form: it.entry.Form().Key}
	if it.verdict.Flavors != nil {
		key.allow = "\x00" + strings.Join(it.verdict.Flavors, "\x00")
	}
	c := p.classes[key]
	if c == nil {
		c = p.newClass(it)
		c.key = key
		p.classes[key] = c
		it.line.classes = append(it.line.classes, c)
		it.line.list(c)
		c.watch()
	}
	c.custom = c.custom || it.verdict.Order != nil
	return c
}

func (p *planner) newClass(it *item) *class {
	c := &class{line: it.line, form: it.entry.Form()}
	if unknown := p.unknown(c); len(unknown) > 0 {
		c.never = append(c.never, reason.NotKnown(c.line.name, p.withCharged(c.line, unknown), p.limiting(unknown), p.exist(c, unknown)))
		return c
	}
	for _, set := range c.form.Sets {
		a := ask{count: set.Set.Count, least: set.Set.Count}
		if least := set.Set.MinCount; least > 0 && least < a.count {
			a.least = least
		}
		charged := p.rates.Charged(set.Set.Requests)
		for i := range c.line.groups {
			if wants, wanted := c.wants(charged, i); wanted {
				a.parts = append(a.parts, part{wants, p.offers(c, i, wants, set.Set.Place, it.verdict.Flavors)})
			}
		}
		if set.Set.Together == 0 { // every node is one
			p.levels(set.Set.Topology.Level, a.parts)
		}
		c.sets = append(c.sets, a)
	}
	if r := p.hopeless(c); r != nil && !p.HopelessBlock {
		c.never = append(c.never, *r)
	}
	return c
}

// wants is what a pod set is charged of a group, by name. A pod set that asks for
// nothing limited is still to have a flavor: the first group's.
func (c *class) wants(charged resource.List, group int) ([]want, bool) {
	var wants []want
	none := true
	for _, name := range charged.Names() {
		of, limited := c.line.groupOf[name]
		none = none && !limited
		if limited && of == group {
			wants = append(wants, want{name, charged[name]})
		}
	}
	return wants, len(wants) > 0 || none && group == 0
}

// offers is the flavors of a group that the Job may have.
func (p *planner) offers(c *class, group int, wants []want, place demand.Place, allow []string) []offer {
	var offers []offer
	for _, name := range allowed(c.line.groups[group].flavors, allow) {
		o := offer{flavor: name, clash: agrees(name, p.Catalog.Flavors[name], place)}
		for _, w := range wants {
			o.pairs = append(o.pairs, p.base.Pair(name, w.resource))
		}
		offers = append(offers, o)
	}
	return offers
}

// allowed is the queue's flavors, as far as the verdict allows them and in its
// order, if it says anything.
func allowed(queue, verdict []string) []string {
	if verdict == nil {
		return queue
	}
	var both []string
	for _, name := range verdict {
		if slices.Contains(queue, name) {
			both = append(both, name)
		}
	}
	return both
}

// unknown is the resources that no quota and no list names, sorted.
func (p *planner) unknown(c *class) []string {
	var names []string
	for _, set := range c.form.Sets {
		for name, n := range set.Set.Requests {
			if n > 0 && p.kind(c.line, name) == policies.Unknown && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// exist tells whether there is such a thing as each of these: on a node, or as what the
// class of a claim is charged as.
func (p *planner) exist(c *class, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		claimed := slices.ContainsFunc(c.form.Sets, func(set book.FormSet) bool { return set.Set.Place.Claimed[name] > 0 })
		return !claimed && !p.Snapshot.Exists(name)
	})
}

// withCharged tells of resources that are charged as something else what nobody has a
// quota of.
func (p *planner) withCharged(l *line, names []string) []string {
	told := slices.Clone(names)
	for i, name := range names {
		var instead []string
		for _, rate := range p.rates.Of(name) {
			if p.rates.Converts(name) && p.kind(l, rate.Resource) == policies.Unknown {
				instead = append(instead, rate.Resource)
			}
		}
		if len(instead) > 0 {
			told[i] = reason.ChargedAs(name, instead)
		}
	}
	return told
}

// askedFor is what so many pods of a set ask for that is charged as a resource: nothing
// if that is the resource itself.
func (p *planner) askedFor(c *class, set int, pods int64, charged string) []reason.Part {
	var parts []reason.Part
	asked, other := c.form.Sets[set].Set.Requests, false
	for _, source := range p.rates.Sources(charged) {
		if n := asked[source.Resource]; n > 0 {
			parts = append(parts, reason.Part{Resource: source.Resource, Amount: resource.Mul(n, pods)})
			other = other || source.Resource != charged
		}
	}
	if !other {
		return nil
	}
	return parts
}

// limiting is the queues with a quota of all these resources, by name.
func (p *planner) limiting(names []string) []string {
	var queues []string
	for _, l := range p.order {
		limited := func(name string) bool { return p.kind(l, name) == policies.Limited }
		if l.name != "" && !slices.ContainsFunc(names, func(name string) bool { return !limited(name) }) {
			queues = append(queues, l.name)
		}
	}
	return queues
}

func (p *planner) kind(l *line, name string) policies.ResourceClass {
	kind, known := l.kinds[name]
	if !known {
		kind = p.Catalog.ResourceClass(l.queue, name)
		l.kinds[name] = kind
	}
	return kind
}

// offers is how many flavors there are to be tried in all.
func (c *class) offers() int {
	n := 0
	for _, s := range c.sets {
		for _, part := range s.parts {
			n += len(part.offers)
		}
	}
	return n
}

func (c *class) pods() int64 {
	total := int64(0)
	for _, set := range c.sets {
		total = resource.Add(total, set.count)
	}
	return total
}

// fails tells whether it is known that a Job of the class does not fit: room only
// gets less within a plan, and who has less priority, or came later, may displace
// nobody that one before it could not.
func (c *class) fails(it *item) bool {
	f := c.failed
	if f == nil {
		return false
	}
	return !c.line.displaces || it.verdict.Priority < f.verdict.Priority ||
		it.verdict.Priority == f.verdict.Priority && demand.CompareArrival(f.job, it.job) <= 0
}
