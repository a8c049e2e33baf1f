package ledger

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies/engine"
)

// starts is what the loop knows of when Jobs start, and how long they run then.
type starts struct {
	history *estimate.History
	told    map[string][]estimate.Start // the last estimate, by queue
	first   map[string]estimate.Start   // what was told of a Job first, by UID
}

func newStarts() starts {
	return starts{history: estimate.NewHistory(), first: map[string]estimate.Start{}}
}

// picture is what the loop knows of Jobs at one moment, for use elsewhere.
type picture struct {
	plan    decide.Input
	jobs    []*demand.Job
	history *estimate.History
	counted supply.Counted         // for claims
	pods    map[string]*supply.Pod // those that have some, by UID
}

// estimate works out when Jobs start, beside the loop, which goes on meanwhile: it
// only gives away what it knows, and takes what came of that.
func (l *Loop) estimate(ctx context.Context) {
	for {
		began := time.Now()
		if err := l.estimateOnce(ctx); err != nil && ctx.Err() == nil {
			l.Log.Error(err, "it is not known when Jobs start; trying again")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(startsEvery, startsShare*time.Since(began))):
		}
	}
}

func (l *Loop) estimateOnce(ctx context.Context) error {
	answer := make(chan picture, 1) // the loop never waits for whoever asks
	l.inbox.put(func(b *batch) { b.pictures = append(b.pictures, answer) })
	var seen picture
	select {
	case <-ctx.Done():
		return ctx.Err()
	case seen = <-answer:
	}
	in := estimate.Input{Plan: seen.plan, Counted: seen.counted, Jobs: seen.jobs, History: seen.history, Each: startsEach, Lag: startsLag.Nanoseconds()}
	if err := l.machines(ctx, &in, seen.pods); err != nil {
		return err
	}
	end := time.Now().Add(startsBudget)
	in.Go = func() bool { return time.Now().Before(end) }
	found := estimate.Work(in)
	if found == nil {
		found = map[string][]estimate.Start{}
	}
	l.inbox.put(func(b *batch) { b.starts = found })
	return nil
}

// machines reads what there is of them, and of pods, from the cache: it is as old as
// what the loop knows, or newer by a moment.
func (l *Loop) machines(ctx context.Context, in *estimate.Input, withClaims map[string]*supply.Pod) error {
	var nodes corev1.NodeList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&nodes, &pods} {
		if err := l.Cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("reading %T: %w", list, err)
		}
	}
	for i := range nodes.Items {
		in.Nodes = append(in.Nodes, intake.Node(&nodes.Items[i]))
	}
	for i := range pods.Items {
		if pod := intake.Pod(&pods.Items[i], perDevice(in.Plan.Catalog)); pod != nil {
			if known := withClaims[pod.UID]; known != nil {
				pod = known
			}
			in.Pods = append(in.Pods, pod)
		}
	}
	return nil
}

// show gives away what the loop knows. The values are never written to again.
func (l *Loop) show(asked []chan<- picture, revision *engine.Revision, now time.Time) {
	if len(asked) == 0 {
		return
	}
	seen := picture{history: l.starts.history.Copy()}
	seen.counted, seen.pods = l.devices.picture()
	seen.plan = decide.Input{
		Namespaces: maps.Clone(l.world.labels), Now: now.UnixNano(), Verdicts: map[string]decide.Outcome{},
		Holds: map[string]decide.HoldAnswer{}, Protects: l.protects(now),
	}
	seen.plan.Held, seen.plan.Drained = l.heldQueues()
	if revision != nil {
		seen.plan.Catalog, seen.plan.Revision = revision.Catalog(), revision.Digest()
	}
	for uid := range l.standing.noes {
		seen.plan.Holds[uid] = l.standing.holds[uid]
	}
	for uid, t := range l.jobs {
		if t.job == nil || t.job.Finished {
			continue
		}
		seen.jobs = append(seen.jobs, t.job)
		if outcome, judged := l.standing.verdicts[string(uid)]; judged {
			seen.plan.Verdicts[string(uid)] = outcome
		}
	}
	for _, to := range asked {
		to <- seen
	}
}

// observeStarts takes what was worked out.
func (l *Loop) observeStarts(found map[string][]estimate.Start) {
	if found == nil {
		return
	}
	for _, queues := range []map[string][]estimate.Start{l.starts.told, found} {
		for queue := range queues {
			l.toPublish[queue] = true
		}
	}
	l.starts.told = found
	for _, list := range found {
		for _, s := range list {
			if _, known := l.starts.first[s.UID]; !known && l.waits(s.UID) {
				l.starts.first[s.UID] = s
			}
		}
	}
}

// waits tells whether a Job still waits as far as the last plan knows.
func (l *Loop) waits(uid string) bool {
	_, waits := l.planner.Brief(uid)
	return waits
}
