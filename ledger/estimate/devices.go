package estimate

import (
	"maps"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// stocks is what is left of rows of devices, by node. A play knows no device: who takes
// units of a row leaves the others as they are, though they may be of the same devices.
type stocks map[string]map[string]supply.Stock

func (p *play) stock() {
	p.book.SetExtended(p.Counted.Extended)
	p.book.SetCosts(p.Counted.Costs)
	for _, d := range p.Counted.Devices {
		p.free.stocks[d.Node] = d.Rows
		p.book.SetDevices(d)
	}
}

// deliver takes devices off a node, or gives them back with sign 1.
func (p *play) deliver(node string, devices resource.List, sign int64) {
	if len(devices) == 0 || p.free.stocks[node] == nil {
		return
	}
	rows := maps.Clone(p.free.stocks[node])
	for name, units := range devices {
		if row, there := rows[name]; there {
			row.Free = min(max(0, row.Free+sign*units), row.Total)
			rows[name] = row
		}
	}
	p.free.stocks[node] = rows
	p.book.SetDevices(supply.Devices{Node: node, Rows: rows})
}

// on is a pod as it is on a node: with the rows that its devices are of, those of extended
// resources among them where the node has no plugin for these.
func (f *floor) on(n *supply.Node, pod *supply.Pod) *supply.Pod {
	bound := *pod
	for name, row := range f.extended {
		asked, given := pod.Requests[name]-pod.Place.Claimed[name], pod.Place.Devices[name]
		switch {
		case given > 0: // it has them already
		case pod.Node == "" && asked > 0 && n.Allocatable[name] == 0:
			given = asked
			bound.Place.Claimed = plus(bound.Place.Claimed, name, given)
		default:
			continue
		}
		bound.Place.Devices = plus(bound.Place.Devices, row, given)
		delete(bound.Place.Devices, name)
	}
	return &bound
}

func plus(list resource.List, name string, n int64) resource.List {
	sum := list.Times(1)
	sum[name] = resource.Add(sum[name], n)
	return sum
}

// has tells whether a node has the devices of a pod as it is there.
func (s stocks) has(node string, pod *supply.Pod) bool {
	for name, units := range pod.Place.Devices {
		if s[node][name].Free < units {
			return false
		}
	}
	return true
}
