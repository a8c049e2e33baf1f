package book

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/fit"
)

// inVain is that machines of a flavor were asked for, for pods of a shape, and none
// came: until a moment nobody asks again.
type inVain struct {
	flavor, shape string
}

// vain is one that stands on a Job.
type vain struct {
	inVain
	until int64
}

// askedInVain notes what stands on a Job of machines that did not come.
func (b *Book) askedInVain(e *Entry) {
	var all []vain
	if j := e.observed; j != nil && j.Backoff.UID == j.UID && len(j.Backoff.NoMachines) > 0 {
		for i := range j.PodSets {
			set := b.placedSet(j, &j.PodSets[i])
			shape := b.nodes.Shape(set.Place, set.Requests, b.isIgnored).Key()
			for _, flavor := range slices.Sorted(maps.Keys(j.Backoff.NoMachines)) {
				all = append(all, vain{inVain{flavor, shape}, j.Backoff.NoMachines[flavor]})
			}
		}
	}
	if slices.Equal(e.vain, all) {
		return
	}
	e.vain = all
	if len(all) > 0 {
		b.vains[e] = struct{}{}
	} else {
		delete(b.vains, e)
	}
	b.sumUpVain()
}

// sumUpVain works out until when nobody asks for machines, over all Jobs.
func (b *Book) sumUpVain() {
	until := map[inVain]int64{}
	for e := range b.vains {
		for _, v := range e.vain {
			if v.until > b.now {
				until[v.inVain] = max(until[v.inVain], v.until)
			}
		}
	}
	if !maps.Equal(until, b.inVain) {
		b.inVain = until
		b.nodes.Changed()
	}
}

// endVain lets those machines be asked for again whose time is over. It returns when
// that is so of the next one, or 0.
func (b *Book) endVain() int64 {
	over := func(_ inVain, until int64) bool { return until <= b.now }
	for key, until := range b.inVain {
		if over(key, until) {
			b.sumUpVain()
			break
		}
	}
	if len(b.inVain) == 0 {
		return 0
	}
	return slices.MinFunc(slices.Collect(maps.Values(b.inVain)), cmp.Compare[int64])
}

// InVain is until when no machines of a flavor are asked for, for pods that ask for a
// shape without any flavor; 0: they are.
func (s *Snapshot) InVain(flavor string, shape *fit.Shape) int64 {
	if !s.AnyInVain() {
		return 0
	}
	return s.b.inVain[inVain{flavor, shape.Key()}]
}

// AnyInVain tells whether there is a flavor of which somebody's shape is asked for in vain.
func (s *Snapshot) AnyInVain() bool { return len(s.b.inVain) > 0 }

// Coming is how many machines that are not there yet may run the shape.
func (s *Snapshot) Coming(shape *fit.Shape) int64 { return s.b.nodes.Coming(shape) }
