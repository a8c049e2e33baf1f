package estimate

import (
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/supply"
)

const (
	// waitingMax is how many Jobs that wait are played.
	waitingMax = 2000
	// mixes is how many plays there are between the two extremes.
	mixes = 3
	// plansMax is how many plans one play makes.
	plansMax = 10_000
	// idleMax is how many of them nothing need have happened before, but that time went by.
	idleMax = 100
	// farthest is how far a play looks, in nanoseconds.
	farthest = 366 * 24 * 3600 * second

	second = int64(1e9)
)

// Input is what is known now.
type Input struct {
	// Plan is what the next plan would be made of, but for the snapshot, which is
	// made of the rest. Nobody is asked anything.
	Plan  decide.Input
	Jobs  []*demand.Job
	Pods  []*supply.Pod
	Nodes []*supply.Node
	// Counted is what nodes have for claims.
	Counted supply.Counted
	// History of runs that have ended; nil: of none.
	History *History
	// Each is for how many Jobs of a queue there is to be an answer, those first that
	// are first in line.
	Each int
	// Most is how many Jobs that wait are played; 0: as many as is usual.
	Most int
	// Lag is how long the pods of a Job may take to go when it is over.
	Lag int64
	// Go tells whether to go on; nil: to the end. What is not known by then stays
	// unknown.
	Go func() bool
}

// Start is when a Job that waits starts.
type Start struct {
	UID, Namespace, Name string
	// Earliest it starts; it may as well be at once if that is the moment of the
	// estimate. 0: it does not start as things are.
	Earliest int64
	// Latest it starts if nobody new comes before it; 0: nobody knows.
	Latest int64
	// Limits: it is told from limits of how long Jobs run; Runs: from so many that
	// have ended.
	Limits bool
	Runs   int
	// Unknown is why there is no latest moment.
	Unknown string
}

// Work says of the first Jobs of each queue when they start, by queue and in the
// order in which they are in line.
func Work(in Input) map[string][]Start {
	if in.Plan.Catalog == nil || in.Each <= 0 {
		return nil
	}
	if in.History == nil {
		in.History = NewHistory()
	}
	s := &stage{Input: in, spans: spans{in.History, map[string]*past{}}}
	s.choose()
	low := s.play(func(string) bool { return false })
	if len(s.asked) == 0 {
		return map[string][]Start{}
	}
	high := s.play(func(string) bool { return true })
	plays := []*play{low, high}
	// Who ends sooner may bring others forward who are in a third's way: the ends of
	// the range are not always those of the two extremes.
	for salt := range mixes {
		if s.going() {
			plays = append(plays, s.play(func(uid string) bool { return coin(uid, salt) }))
		}
	}
	return s.answers(plays)
}
