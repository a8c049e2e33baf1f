package ledger

import (
	"time"

	"github.com/holdshort/holdshort/policies"
)

// damper tells what the machines have so that nothing follows from a node that
// comes and goes: an amount moves only after it was larger, or smaller, without a
// break for capacityStands, and then no further than it was all that time. What
// is seen for the first time counts at once.
type damper struct {
	cells map[[2]string]*dampedTotals // by flavor and resource
}

type dampedTotals struct{ allocatable, unhealthy, held damped }

// see takes in what the machines have now, and tells whether anything moved.
func (d *damper) see(now policies.CatalogCapacity, at time.Time) bool {
	if d.cells == nil {
		d.cells = map[[2]string]*dampedTotals{}
	}
	for flavor, totals := range now {
		for name := range totals {
			if key := [2]string{flavor, name}; d.cells[key] == nil {
				d.cells[key] = &dampedTotals{}
			}
		}
	}
	moved := false
	for key, cell := range d.cells {
		totals := now[key[0]][key[1]]
		moved = cell.allocatable.see(totals.Allocatable, at) || moved
		moved = cell.unhealthy.see(totals.Unhealthy, at) || moved
		moved = cell.held.see(totals.Held, at) || moved
	}
	return moved
}

func (d *damper) totals() policies.CatalogCapacity {
	all := policies.CatalogCapacity{}
	for key, cell := range d.cells {
		if all[key[0]] == nil {
			all[key[0]] = map[string]policies.Totals{}
		}
		all[key[0]][key[1]] = policies.Totals{
			Allocatable: cell.allocatable.stands, Unhealthy: cell.unhealthy.stands, Held: cell.held.stands,
		}
	}
	return all
}

// damped is one amount.
type damped struct {
	known  bool
	stands int64
	// since is when it was last not what stands, on the side of nearest; zero
	// while it is.
	since   time.Time
	nearest int64 // to what stands, of all that was seen since
}

func (d *damped) see(amount int64, at time.Time) bool {
	switch {
	case !d.known:
		*d = damped{known: true, stands: amount}
		return true
	case amount == d.stands:
		d.since = time.Time{}
		return false
	case d.since.IsZero() || (amount > d.stands) != (d.nearest > d.stands):
		d.since, d.nearest = at, amount
		return false
	case amount > d.stands:
		d.nearest = min(d.nearest, amount)
	default:
		d.nearest = max(d.nearest, amount)
	}
	if at.Sub(d.since) < capacityStands {
		return false
	}
	d.stands, d.since = d.nearest, time.Time{}
	if amount != d.stands {
		d.since, d.nearest = at, amount
	}
	return true
}
