package decide

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// placed is a pod set on the machines of certain flavors, one for each part.
type placed struct {
	set     int
	flavors []int // of each part's offers
	machineSet
}

// machineSet is what machines are asked for a pod set.
type machineSet struct {
	shape *fit.Shape
	// asks is the shape with all machines that an autoscaler may add; the other one has
	// none of them where they were asked for in vain, until a moment.
	asks        *fit.Shape
	until       int64
	node        string // that the pods name, if they do
	verified    bool
	selector    map[string]string
	tolerations []policies.Toleration

	topology demand.Topology // that is asked for
	place    demand.Place
	requests resource.List
	// anywhere is the same before a domain was chosen for it, nil if none was.
	anywhere *machineSet
	domain   string
}

// place works out where a pod set goes with the flavors chosen so far, once.
func (p *planner) place(c *class, set int, flavors []int) *machineSet {
	until := p.inVain(c, set, flavors)
	for i := range c.shapes {
		if s := &c.shapes[i]; s.set == set && s.until == until && slices.Equal(s.flavors, flavors) {
			return &s.machineSet
		}
	}
	asked := c.form.Sets[set].Set
	m := machineSet{verified: true, until: until, topology: asked.Topology, requests: asked.Requests}
	for part, at := range flavors {
		flavor := p.Catalog.Flavors[c.sets[set].parts[part].offers[at].flavor]
		selector, tolerations := injection(flavor, asked.Place)
		if m.selector == nil {
			m.selector = selector
		} else {
			maps.Copy(m.selector, selector)
		}
		for _, t := range tolerations {
			if !slices.ContainsFunc(m.tolerations, func(have policies.Toleration) bool { return covers(have, t) }) {
				m.tolerations = append(m.tolerations, t)
			}
		}
		m.verified = m.verified && flavor.Verify != policies.VerifyNone
	}
	m.place = book.Inject(asked.Place, m.selector, m.tolerations)
	m.asks, m.node = p.Snapshot.Keep(p.Snapshot.Shape(m.place, m.requests)), namedNode(m.place)
	if m.shape = m.asks; until > 0 {
		m.place.Existing = true
		m.shape = p.Snapshot.Keep(p.Snapshot.Shape(m.place, m.requests))
	}
	c.shapes = append(c.shapes, placed{set, slices.Clone(flavors), m})
	return &c.shapes[len(c.shapes)-1].machineSet
}

// inVain is until when no machines are asked for, for a pod set with these flavors; 0:
// they are.
func (p *planner) inVain(c *class, set int, flavors []int) int64 {
	until := int64(0)
	for part, at := range flavors {
		flavor := c.sets[set].parts[part].offers[at].flavor
		until = max(until, p.Snapshot.InVain(flavor, c.form.Sets[set].Shape))
	}
	return until
}

// withVain has the reason why a class waits name the flavors of which no machines are
// asked for, also where something else is what it waits for first: by their turn they
// might have come before.
func (p *planner) withVain(c *class, r reason.Reason) reason.Reason {
	if !p.Snapshot.AnyInVain() || !reason.Of(r.Code).Group.InLine() {
		return r
	}
	for set := range c.sets {
		for _, part := range c.sets[set].parts {
			for _, o := range part.offers {
				until := p.Snapshot.InVain(o.flavor, c.form.Sets[set].Shape)
				if note := reason.InVain(o.flavor, until); until > 0 && !strings.Contains(r.Message, note) {
					r = r.With(note)
				}
			}
		}
	}
	return r
}

// let gives up the shapes.
func (m *machineSet) let(s *book.Snapshot) {
	s.Let(m.asks)
	if m.shape != m.asks {
		s.Let(m.shape)
	}
}

// contradict tells whether the machines of one flavor can't be those of others
// that were chosen for the same pods.
func (p *planner) contradict(c *class, set int, chosen []int, flavor string) bool {
	if p.QuotaOnly {
		return false
	}
	for part, at := range chosen {
		other := p.Catalog.Flavors[c.sets[set].parts[part].offers[at].flavor].NodeLabels
		for key, value := range p.Catalog.Flavors[flavor].NodeLabels {
			if has, named := other[key]; named && has != value {
				return true
			}
		}
	}
	return false
}
