package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// livePlayer plays a case as the live system would: plan after plan, and what is
// taken back has pods that are there for one plan more.
type livePlayer struct {
	*player
	limits *quota.Limits
	going  map[string]*demand.Reservation // by UID: whose pods are being deleted
	owed   map[string]string              // UID of who made room → UID of whom it made room for
	gave   map[string]*demand.Reservation // what it had, by UID
	found  []string
}

// playLive plays a case with all that differs from the cases switched on, and
// tells what must not be: an admission beyond a quota, room that goes to whoever
// was taken back for somebody else, no end.
func playLive(c testCase) ([]string, error) {
	w, err := build(c)
	if err != nil {
		return nil, err
	}
	limits, err := compile(w.catalog)
	if err != nil {
		return nil, err
	}
	p := &livePlayer{
		player: &player{world: w, options: decide.Options{QuotaOnly: true}, preempted: map[string]bool{}},
		limits: limits, going: map[string]*demand.Reservation{}, owed: map[string]string{}, gave: map[string]*demand.Reservation{},
	}
	for {
		if p.round >= mostRounds {
			return p.found, fmt.Errorf("never settles: %d plans that change something", mostRounds)
		}
		r := p.plan()
		p.checkQuota(r.Admit)
		gone := p.going
		p.going = map[string]*demand.Reservation{}
		if err := p.carryOut(r); err != nil {
			return p.found, err
		}
		p.deletePods(gone)
		if len(r.Admit)+len(r.Suspend)+len(gone) == 0 {
			break
		}
	}
	for _, victim := range slices.Sorted(maps.Keys(p.owed)) {
		p.say("%s was taken back for %s, which never starts", p.jobs[victim].Key(), p.jobs[p.owed[victim]].Key())
	}
	return p.found, nil
}

func (p *livePlayer) say(format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf("plan %d: ", p.round)+fmt.Sprintf(format, args...))
}

// carryOut does what a plan wants, and sees to who gets whose room.
func (p *livePlayer) carryOut(r decide.Result) error {
	for _, a := range r.Admit {
		uid := a.Job.UID
		if by, owes := p.owed[uid]; owes && !starts(r.Admit, by) && overlap(uses(p.gave[uid]), uses(&a.Reservation)) {
			p.say("%s takes its place again before %s starts, that it made room for", a.Job.Key(), p.jobs[by].Key())
		}
		if err := p.run(p.jobs[uid], a.Reservation); err != nil {
			return fmt.Errorf("plan %d: %w", p.round, err)
		}
		delete(p.owed, uid)
		maps.DeleteFunc(p.owed, func(_, by string) bool { return by == uid })
	}
	for _, s := range r.Suspend {
		if s.Preempted == nil {
			return fmt.Errorf("plan %d takes %s back for nobody: %s", p.round, s.Job.Key(), s.Reason.Message)
		}
		p.takeBack(s)
	}
	return nil
}

// takeBack suspends a Job, whose pods are there for one more plan.
func (p *livePlayer) takeBack(s effect.Suspend) {
	uid := s.Job.UID
	had := p.running[uid]
	p.preempted[s.Job.Key()] = true
	p.owed[uid], p.gave[uid], p.going[uid] = s.Preempted.By, had, had
	for i, ps := range had.PodSets {
		p.book.SetPod(&supply.Pod{
			UID: podUID(uid, i), Namespace: s.Job.Namespace, Name: s.Job.Name, Node: "node", JobUID: uid,
			Requests: ps.Requests.Times(ps.Count), Queue: had.Queue, Flavors: ps.Flavors, Started: true, Deleting: true,
		})
	}
	waiting := *p.jobs[uid]
	waiting.Preempted = s.Preempted
	delete(p.running, uid)
	p.book.SetJob(&waiting)
}

func podUID(job string, set int) string { return fmt.Sprintf("%s-%d", job, set) }

func (p *livePlayer) deletePods(gone map[string]*demand.Reservation) {
	for uid, had := range gone {
		for i := range had.PodSets {
			p.book.DeletePod(podUID(uid, i))
		}
	}
}

// checkQuota counts what runs and what is going, and then every admission.
func (p *livePlayer) checkQuota(admits []effect.Admit) {
	tree := quota.NewTree(p.limits)
	for _, held := range []map[string]*demand.Reservation{p.running, p.going} {
		for _, r := range held {
			p.charge(tree, r, nil)
		}
	}
	for _, a := range admits {
		p.charge(tree, &a.Reservation, func(pair quota.Pair, amount, available, potential int64) {
			if amount > max(0, available) || amount > potential {
				p.say("%s starts with %d of %s on %s, of which %d are available and %d could ever be",
					a.Job.Key(), amount, pair.Resource, pair.Flavor, available, potential)
			}
		})
	}
}

// charge adds what a Job was given; check sees each amount before any is added.
func (p *livePlayer) charge(tree *quota.Tree, r *demand.Reservation, check func(pair quota.Pair, amount, available, potential int64)) {
	n, all := tree.Queue(r.Queue), uses(r)
	maps.DeleteFunc(all, func(pair quota.Pair, amount int64) bool {
		return amount == 0 || !p.queues[r.Queue].covers(pair.Resource) || tree.Pair(pair.Flavor, pair.Resource) == quota.None
	})
	if check != nil {
		for _, pair := range slices.SortedFunc(maps.Keys(all), comparePairs) {
			id := tree.Pair(pair.Flavor, pair.Resource)
			check(pair, all[pair], tree.Available(n, id), tree.Potential(n, id))
		}
	}
	for pair, amount := range all {
		tree.Add(n, tree.Pair(pair.Flavor, pair.Resource), amount)
	}
}

func comparePairs(a, b quota.Pair) int {
	return cmp.Or(cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Resource, b.Resource))
}

// uses is what a Job was given of each resource of each flavor.
func uses(r *demand.Reservation) map[quota.Pair]int64 {
	all := map[quota.Pair]int64{}
	for _, ps := range r.PodSets {
		for name, n := range ps.Requests {
			pair := quota.Pair{Flavor: ps.FlavorOf(name), Resource: name}
			all[pair] = resource.Add(all[pair], resource.Mul(n, ps.Count))
		}
	}
	return all
}

// overlap tells whether two want some of the same. Pods are everywhere.
func overlap(a, b map[quota.Pair]int64) bool {
	for pair, amount := range a {
		if pair.Resource != resource.Pods && amount > 0 && b[pair] > 0 {
			return true
		}
	}
	return false
}

func starts(admits []effect.Admit, uid string) bool {
	return slices.ContainsFunc(admits, func(a effect.Admit) bool { return a.Job.UID == uid })
}
