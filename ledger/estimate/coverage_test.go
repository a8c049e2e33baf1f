package estimate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/sim"
	"github.com/holdshort/holdshort/policies"
)

// TestHowManyStartWithinTheirRange plays days in which Jobs run for a part of their
// limit that nobody knows before, and are told when they start from their limits and
// from how long others ran. Where nobody new comes, most start within the range, and
// nobody after it; where others come meanwhile, fewer do.
func TestHowManyStartWithinTheirRange(t *testing.T) {
	for _, c := range []struct {
		name          string
		newcomers     bool
		within, after float64 // least and most, of all
	}{
		{"nobody new comes", false, 0.8, 0},
		{"others come meanwhile", true, 0.6, 0.35},
	} {
		t.Run(c.name, func(t *testing.T) {
			var within, early, late int
			for seed := range uint64(12) {
				said, log := at(t, day(seed, c.newcomers), start+minute, used(seed))
				for uid, began := range truth(log) {
					s, told := said[uid]
					switch {
					case !told || s.Latest == 0:
					case began < s.Earliest:
						early++
					case began > s.Latest:
						late++
					default:
						within++
					}
				}
			}
			all := float64(within + early + late)
			t.Logf("of %.0f Jobs, %.0f %% started within the range, %.0f %% before it, %.0f %% after it",
				all, 100*float64(within)/all, 100*float64(early)/all, 100*float64(late)/all)
			if share := float64(within) / all; share < c.within {
				t.Errorf("%.2f started within the range, want at least %.2f", share, c.within)
			}
			if share := float64(late) / all; share > c.after {
				t.Errorf("%.2f started after the range, want at most %.2f", share, c.after)
			}
		})
	}
}

// runs is a part of a limit, from a tenth to all of it.
func runs(chance *rand.Rand, limit int64) int64 {
	return max(second, limit*(10+chance.Int64N(91))/100/second*second)
}

// used is how such Jobs ran before.
func used(seed uint64) *estimate.History {
	chance, h := rand.New(rand.NewPCG(seed, 1)), estimate.NewHistory()
	for range 60 {
		limit := (10 + chance.Int64N(50)) * minute
		h.Add("q", estimate.Run{Took: runs(chance, limit), Limit: limit})
	}
	return h
}

// day is 40 Jobs within a minute in a strict queue, and as many afterwards, some of
// them more important.
func day(seed uint64, newcomers bool) sim.World {
	chance := rand.New(rand.NewPCG(seed, 2))
	w := sim.World{Catalog: catalog(policies.StrictFIFO, map[string]int64{"q": 8}), Seed: seed}
	w.Changes = arrive()
	for i := range 80 {
		limit := (10 + chance.Int64N(50)) * minute
		job := asks(fmt.Sprint("j", i), "q", 1+chance.Int64N(3), 1, limit, runs(chance, limit))
		when := start + chance.Int64N(60)*second
		if i >= 40 {
			when = start + minute + chance.Int64N(3600)*second
			job.Verdict.Priority = chance.Int64N(5) / 4
		}
		if i < 40 || newcomers {
			w.Changes = append(w.Changes, sim.Change{At: when, Arrive: job})
		}
	}
	w.Changes = append(w.Changes, sim.Change{At: start + minute, Node: node("last", 0)})
	return w
}
