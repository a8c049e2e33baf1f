package book

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/resource"
)

// apartsMax is how many anti-affinities are known at a time. Those beyond it are
// left to the placement timeout.
const apartsMax = 24

// who is what a pod is called, and what anti-affinities go by. Of all pods, since one
// that keeps away from them may come at any time.
type who struct {
	namespace, name string
	labels          map[string]string
}

// learn takes note of anti-affinities that nobody had before, and counts everybody
// again whom they mean. They stay known: who had one has successors.
func (b *Book) learn(aparts []demand.Apart) {
	for _, a := range aparts {
		known := func(other demand.Apart) bool { return other.Name == a.Name }
		if len(b.aparts) == apartsMax || slices.ContainsFunc(b.aparts, known) {
			continue
		}
		b.aparts = append(b.aparts, a)
		for uid, p := range b.pods {
			if selects(a, b.who[uid]) {
				b.keepAway(p, a.Name)
			}
		}
		for _, e := range b.entries {
			b.reform(e)
		}
	}
}

// keepAway counts a pod again that is one of those from whom others keep away.
func (b *Book) keepAway(p *pod, from string) {
	b.count(p, -1)
	defer b.count(p, 1)
	if p.shape == nil {
		for _, v := range []**fit.Vector{&p.holds, &p.gives} {
			old := *v
			*v = b.nodes.Holding(b.list(old), resource.List{from: 1})
			b.nodes.Drop(old)
		}
		return
	}
	place := p.shape.Place()
	place.Once = plus(place.Once, from, 1)
	place.Clear = insert(place.Clear, resource.Kept(from))
	old := p.shape
	p.shape = b.nodes.Keep(b.nodes.Shape(place, b.list(p.req), b.isIgnored))
	b.nodes.Let(old)
}

// placed is a place with what the known anti-affinities mean for pods of such a
// namespace and labels. Who is meant and who keeps away from them are two crowds
// of which a node takes either; who is both is alone there.
func (b *Book) placed(as who, place demand.Place) demand.Place {
	for _, a := range b.aparts {
		meant := selects(a, as)
		away := slices.ContainsFunc(place.Apart, func(own demand.Apart) bool { return own.Name == a.Name })
		switch {
		case meant && away:
			place.Once = plus(place.Once, a.Name, resource.Whole)
		case meant:
			place.Once = plus(place.Once, a.Name, 1)
		case away:
			place.Once = plus(place.Once, resource.Kept(a.Name), 1)
		}
		if meant {
			place.Clear = insert(place.Clear, resource.Kept(a.Name))
		}
		if away && !meant {
			place.Clear = insert(place.Clear, a.Name)
		}
	}
	return place
}

// placedSet is a pod set with its place as placed makes it.
func (b *Book) placedSet(j *demand.Job, set *demand.PodSet) *demand.PodSet {
	if len(b.aparts) == 0 {
		return set
	}
	made := *set
	made.Place = b.placed(who{namespace: j.Namespace, labels: set.Labels}, set.Place)
	return &made
}

func plus(list resource.List, name string, n int64) resource.List {
	list = maps.Clone(list)
	if list == nil {
		list = resource.List{}
	}
	list[name] = n
	return list
}

// insert keeps names in order: which anti-affinity was known first makes no shape.
func insert(names []string, name string) []string {
	names = append(slices.Clone(names), name)
	slices.Sort(names)
	return names
}

func selects(a demand.Apart, as who) bool {
	if a.Namespaces != nil && !slices.Contains(a.Namespaces, as.namespace) {
		return false
	}
	for _, r := range a.Labels {
		if value, set := as.labels[r.Key]; !fit.Meets(r, value, set) {
			return false
		}
	}
	return true
}
