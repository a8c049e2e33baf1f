package decide

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/fit"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

// strangers are the pods that nobody queued, came after a moment, and without which
// more of those that a gang lacks would have room; none while there is room for all.
//
// All that came are taken off, and put back one after the other: who makes no
// difference is not to blame. Those are put back first that are where the gang was not
// planned to go, and of these, those that came first; so what is left is as few as
// can be, and who took the last of the room rather than who left some.
func (p *planner) strangers(e *book.Entry, since int64) []reason.Stranger {
	if p.QuotaOnly {
		return nil
	}
	lacks := lacking{room: p.Snapshot.Room().Copy()}
	e.EachPromise(func(shape *fit.Shape, pods int64) {
		lacks.promises = append(lacks.promises, fit.Promise{Shape: shape, Pods: pods})
	})
	before := lacks.fit()
	if before == lacks.all() {
		return nil
	}
	came := p.cameSince(since)
	for _, s := range came {
		lacks.room.Give(s.Node, s.Holds, 1)
	}
	most := lacks.fit()
	if most == before {
		return nil
	}
	plan := e.Reservation().Plan
	planned := func(s book.Stranger) bool { return plan[s.Node] > 0 }
	var guilty []book.Stranger
	for _, there := range []bool{false, true} {
		for _, s := range came {
			if planned(s) != there {
				continue
			}
			if lacks.room.Give(s.Node, s.Holds, -1); lacks.fit() < most {
				lacks.room.Give(s.Node, s.Holds, 1)
				guilty = append(guilty, s)
			}
		}
	}
	slices.Reverse(guilty) // first those on planned nodes, and the last to come
	return p.tellStrangers(guilty, lacks.promises)
}

// cameSince is asked for several gangs at one moment, and mostly for none.
func (p *planner) cameSince(since int64) []book.Stranger {
	if p.came == nil || since < p.cameAt {
		p.came, p.cameAt = p.Snapshot.Strangers(since), since
	}
	at, _ := slices.BinarySearchFunc(p.came, since/second*second, func(s book.Stranger, t int64) int {
		if s.Since < t {
			return -1
		}
		return 1
	})
	return p.came[at:]
}

// lacking is pods that have no room, or not all of them.
type lacking struct {
	room     *fit.Room
	promises []fit.Promise
}

func (l *lacking) all() int64 {
	n := int64(0)
	for _, p := range l.promises {
		n = resource.Add(n, p.Pods)
	}
	return n
}

// fit is how many of them have room, each shape by itself.
func (l *lacking) fit() int64 {
	n := int64(0)
	for _, p := range l.promises {
		n = resource.Add(n, min(p.Pods, l.room.Slots(p.Shape)))
	}
	return n
}

// tellStrangers says who they are, and what they hold of what the pods ask for:
// devices, if they hold any.
func (p *planner) tellStrangers(all []book.Stranger, promises []fit.Promise) []reason.Stranger {
	told := make([]reason.Stranger, 0, len(all))
	for _, s := range all {
		amounts := p.Snapshot.Amounts(s.Holds)
		var devices, others []reason.Part
		for _, name := range amounts.Names() {
			asked := func(o fit.Promise) bool { return p.Snapshot.Room().Request(o.Shape, name) > 0 }
			part := reason.Part{Resource: resource.Words(name), Amount: amounts[name]}
			switch {
			case !slices.ContainsFunc(promises, asked):
			case resource.IsDevice(name) && !resource.IsOnce(name):
				devices = append(devices, part)
			case resource.IsOnce(name):
				part.Amount = 0
				others = append(others, part)
			case name != resource.Pods || len(amounts) == 1:
				others = append(others, part)
			}
		}
		if len(devices) == 0 {
			devices = others
		}
		told = append(told, reason.Stranger{Pod: s.Namespace + "/" + s.Name, Node: s.Node, Holds: devices})
	}
	return told
}
