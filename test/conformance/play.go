package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/resource"
)

// mostRounds is when a case counts as one that never comes to rest.
const mostRounds = 200

// admitted is who runs on what, by name, as a line for each Job.
type admitted map[string]string

// outcome is what came out of a case.
type outcome struct {
	firstAdmitted  admitted
	firstPreempted map[string]string // name → reason
	admitted       admitted
	preempted      []string
	waiting        map[string]string // name → reason code
}

// asInTheCases switches off what the live system does otherwise.
func asInTheCases() decide.Options {
	return decide.Options{AnybodysRoom: true, EarlyRelease: true, HopelessBlock: true, QuotaOnly: true, OneRound: true}
}

// begin is the moment of round 0.
func begin() time.Time { return time.Date(2031, time.March, 1, 0, 0, 0, 0, time.UTC) }

// player plays a case round by round.
type player struct {
	*world
	options   decide.Options
	memory    *decide.Memory
	round     int
	preempted map[string]bool // by name
}

// plan decides the next round. Nothing here has pods, so timeouts begin anew each
// time.
func (p *player) plan() decide.Result {
	p.round++
	now := begin().Add(time.Duration(p.round) * time.Second).UnixNano()
	return decide.Plan(decide.Input{
		Snapshot: p.book.Snapshot(), Catalog: p.catalog, Revision: revision, Verdicts: p.verdicts,
		Namespaces: p.namespaces, Options: p.options, Memory: p.memory, Now: now, Since: now,
	})
}

// play goes on round by round until nothing moves any more, whatever is tried.
func play(c testCase) (outcome, error) {
	w, err := build(c)
	if err != nil {
		return outcome{}, err
	}
	p := &player{world: w, options: asInTheCases(), preempted: map[string]bool{}}
	var idle int
	out, last := outcome{}, decide.Result{}
	for swept := true; swept; {
		swept, idle = false, 0
		for more := true; more; {
			if p.round >= mostRounds {
				return out, fmt.Errorf("never settles: %d rounds that change something", mostRounds)
			}
			last = p.plan()
			if err := p.apply(last); err != nil {
				return out, err
			}
			if p.round == 1 {
				out.firstAdmitted, out.firstPreempted = p.started(last), p.rights(last)
			}
			changed := len(last.Admit)+len(last.Suspend) > 0
			if idle++; changed {
				idle = 0
			}
			swept = swept || changed
			more = changed
			if last.Memory != nil { // else there was nothing to try
				p.memory = last.Memory
				// Some go on for ever from one flavor to the next and back; then nobody
				// behind them gets a turn.
				more = more || p.memory.Untried() && idle < 3*len(last.Waiting)
			}
		}
		if p.memory != nil {
			p.memory.Retry()
		}
	}
	out.admitted, out.waiting = p.runs(), waitingReasons(last)
	out.preempted = slices.Sorted(maps.Keys(p.preempted))
	return out, nil
}

// apply has the consequences complete before the next round.
func (p *player) apply(r decide.Result) error {
	for _, s := range r.Suspend {
		if s.Preempted == nil {
			return fmt.Errorf("round %d takes %s back for nobody: %s", p.round, s.Job.Key(), s.Reason.Message)
		}
		p.preempted[s.Job.Key()] = true
		p.wait(s.Job.UID)
	}
	for _, a := range r.Admit {
		if err := p.run(p.jobs[a.Job.UID], a.Reservation); err != nil {
			return fmt.Errorf("round %d: %w", p.round, err)
		}
	}
	return nil
}

func (p *player) started(r decide.Result) admitted {
	all := admitted{}
	for _, a := range r.Admit {
		all[a.Job.Key()] = p.line(a.Job.UID)
	}
	return all
}

func (p *player) rights(r decide.Result) map[string]string {
	all := map[string]string{}
	for _, s := range r.Suspend {
		all[s.Job.Key()] = string(s.Preempted.Right)
	}
	return all
}

// runs is every Job that runs.
func (p *player) runs() admitted {
	all := admitted{}
	for uid := range p.running {
		all[p.jobs[uid].Key()] = p.line(uid)
	}
	return all
}

// line is what a Job was given, where the queue limits what it asks for.
func (p *player) line(uid string) string {
	job, given := p.jobs[uid], p.running[uid]
	var sets []wantPodSet
	for i, ps := range given.PodSets {
		set := wantPodSet{Name: ps.Name, Count: ps.Count, Flavors: map[string]string{}}
		asked := job.PodSets[i].Requests
		for _, name := range asked.Names() {
			if p.queues[given.Queue].covers(name) {
				set.Flavors[name] = ps.FlavorOf(name)
			}
		}
		if p.queues[given.Queue].covers(resource.Pods) {
			set.Flavors[resource.Pods] = ps.FlavorOf(resource.Pods)
		}
		sets = append(sets, set)
	}
	return describe(sets)
}

func waitingReasons(r decide.Result) map[string]string {
	all := map[string]string{}
	for _, w := range r.Waiting {
		all[w.Key] = string(w.Reason.Code)
	}
	return all
}
