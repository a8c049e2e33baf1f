package decide

import (
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/book"
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
	line    *line
	form    *book.Form
	options []option        // flavors it may run on, in order
	never   []reason.Reason // why it is not in line at all
	over    []reason.Quota  // flavors whose quota is too small for it
	failed  bool            // it did not fit at some point of this plan
	answer  *answer         // why it waits, at the end of the plan
}

type classKey struct {
	line  *line
	form  book.FormKey
	allow string
}

// option is one flavor for a class.
type option struct {
	flavor      string
	verified    bool
	cells       []cell // what it takes of limited resources
	sets        []optionSet
	selector    map[string]string
	tolerations []policies.Toleration
}

type optionSet struct {
	shape *fit.Shape
	count int64
	node  string // that the pods name, if they do
}

type cell struct {
	key    quota.Key
	amount int64
}

func (p *planner) classOf(it *item) *class {
	key := classKey{line: it.line, form: it.entry.Form().Key}
	if it.verdict.Flavors != nil {
		key.allow = "\x00" + strings.Join(it.verdict.Flavors, "\x00")
	}
	c := p.classes[key]
	if c == nil {
		c = p.newClass(it)
		p.classes[key] = c
	}
	return c
}

func (p *planner) newClass(it *item) *class {
	c := &class{line: it.line, form: it.entry.Form()}
	if unknown := p.unknown(c); len(unknown) > 0 {
		c.never = append(c.never, reason.NotKnown(c.line.name, unknown, p.limiting(unknown)))
	}
	var clashes []reason.Reason
	fitting := 0
	for _, name := range allowed(c.line.queue.Flavors, it.verdict.Flavors) {
		flavor := p.Catalog.Flavors[name]
		if clash := c.agrees(name, flavor); clash != nil {
			clashes = append(clashes, *clash)
			continue
		}
		fitting++
		o, over := p.option(c, name, flavor)
		if over != nil {
			c.over = append(c.over, *over)
			continue
		}
		c.options = append(c.options, o)
	}
	switch {
	case fitting == 0 && len(clashes) == 0:
		c.never = append(c.never, reason.NoFlavors(c.line.name))
	case fitting == 0:
		c.never = append(c.never, reason.Joined(clashes))
	case len(c.options) == 0:
		c.never = append(c.never, reason.OverQuota(c.pods(), c.over...))
	}
	return c
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

func (c *class) agrees(name string, f policies.Flavor) *reason.Reason {
	for _, set := range c.form.Sets {
		if clash := agrees(name, f, set.Set.Place); clash != nil {
			return clash
		}
	}
	return nil
}

// option works out what a flavor would take, or why its quota can never do.
func (p *planner) option(c *class, name string, f policies.Flavor) (option, *reason.Quota) {
	o := option{flavor: name, verified: f.Verify != policies.VerifyNone}
	total := resource.List{}
	for _, set := range c.form.Sets {
		selector, tolerations := injection(f, set.Set.Place)
		place := book.Inject(set.Set.Place, selector, tolerations)
		o.sets = append(o.sets, optionSet{p.Snapshot.Shape(place, set.Set.Requests), set.Set.Count, namedNode(place)})
		o.selector, o.tolerations = selector, tolerations
		total.AddTo(set.Set.Requests, set.Set.Count)
	}
	for _, resourceName := range total.Names() {
		if total[resourceName] == 0 || p.kind(c.line, resourceName) != policies.Limited {
			continue
		}
		key := quota.Key{Queue: c.line.name, Flavor: name, Resource: resourceName}
		nominal := c.line.queue.Quota[name][resourceName].Nominal
		if total[resourceName] > nominal {
			return o, &reason.Quota{Queue: key.Queue, Flavor: key.Flavor, Resource: key.Resource,
				Nominal: nominal, Asked: total[resourceName]}
		}
		o.cells = append(o.cells, cell{key, total[resourceName]})
	}
	return o, nil
}

func (c *class) pods() int64 {
	total := int64(0)
	for _, set := range c.form.Sets {
		total = resource.Add(total, set.Set.Count)
	}
	return total
}

// feasible returns the first flavor on which the class could start now.
func (p *planner) feasible(c *class) *option {
	if c.failed {
		return nil
	}
	for i := range c.options {
		o := &c.options[i]
		if p.quotaAllows(o) && (!o.verified || p.machines.allow(o.sets)) {
			return o
		}
	}
	c.failed = true
	return nil
}

func (p *planner) quotaAllows(o *option) bool {
	for _, c := range o.cells {
		if c.amount > p.tree.Available(c.key) {
			return false
		}
	}
	return true
}

// lacks says why the class can't start as things stand, one flavor after the
// other.
func (p *planner) lacks(c *class) []reason.Reason {
	var found, never []reason.Reason
	for i := range c.options {
		o := &c.options[i]
		machines := p.machines.lack(o)
		if machines != nil && machines.Code == reason.NeverFits {
			never = append(never, *machines)
			continue
		}
		if r := p.quotaLack(o); r != nil {
			found = append(found, *r)
		}
		if machines != nil {
			found = append(found, *machines)
		}
	}
	if len(found) == 0 && len(never) > 0 {
		if len(c.over) > 0 {
			never = append(never, reason.OverQuota(c.pods(), c.over...))
		}
		found = []reason.Reason{reason.Joined(never)}
	}
	return found
}

func (p *planner) quotaLack(o *option) *reason.Reason {
	for _, c := range o.cells {
		row := p.tree.Row(c.key)
		if c.amount > p.tree.Available(c.key) {
			r := reason.NoQuota(reason.Quota{Queue: row.Queue, Flavor: row.Flavor, Resource: row.Resource,
				Used: row.Usage, Nominal: row.Nominal, Asked: c.amount})
			return &r
		}
	}
	return nil
}
