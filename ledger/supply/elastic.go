package supply

import (
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// podsOfNode is how many pods a machine takes of which the policy does not say it.
const podsOfNode = 110

// Elastic is a flavor of which an autoscaler may add machines.
type Elastic struct {
	Flavor string
	Labels map[string]string
	Taints []policies.Taint
	Max    int64
	// Has is what pods can have of one; nil: what every one that is there has.
	Has resource.List
}

// ElasticOf is the elastic flavors of a catalog, by name.
func ElasticOf(catalog *policies.Catalog) []Elastic {
	if catalog == nil {
		return nil
	}
	var all []Elastic
	for _, name := range catalog.ElasticFlavors() {
		f := catalog.Flavors[name]
		e := Elastic{Flavor: name, Labels: f.NodeLabels, Max: f.Elastic.Max}
		for _, taint := range f.Taints {
			if taint.Effect != "PreferNoSchedule" {
				e.Taints = append(e.Taints, taint)
			}
		}
		if f.Elastic.Node != nil {
			e.Has = resource.List{resource.Pods: podsOfNode}
			maps.Copy(e.Has, f.Elastic.Node)
		}
		all = append(all, e)
	}
	return all
}

// Equal tells whether two are the same.
func (e Elastic) Equal(other Elastic) bool {
	return e.Flavor == other.Flavor && e.Max == other.Max && maps.Equal(e.Labels, other.Labels) && maps.Equal(e.Has, other.Has) &&
		(e.Has == nil) == (other.Has == nil) && slices.Equal(e.Taints, other.Taints)
}

// Owns tells whether a node is one of the flavor: it counts against Max, in whatever
// state it is.
func (e Elastic) Owns(n *Node) bool {
	for key, value := range e.Labels {
		if got, there := n.Labels[key]; !there || got != value {
			return false
		}
	}
	return true
}

// Machine is one that the autoscaler would add; it has the flavor's labels and taints
// and no others.
func (e Elastic) Machine(name string, has resource.List) *Node {
	return &Node{Coming: true, Name: name, Labels: e.Labels, Taints: e.Taints, Ready: true, Allocatable: has, Capacity: has}
}
