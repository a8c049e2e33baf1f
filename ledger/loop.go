package ledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/policies/engine"
)

// Options are what the loop works with.
type Options struct {
	// Cache to watch through, made with CacheOptions.
	Cache cache.Cache
	// Client reads and writes past the cache.
	Client client.Client
	Events events.EventRecorder
	// Policy returns the revision in force, nil if there is none.
	Policy func() *engine.Revision
	// Shadow hears what the policy was asked and answered; nil: nobody does.
	Shadow *rollout.Shadow
	Scope  intake.Scope
	// Starts counts how good the estimates are; nil: nobody does.
	Starts *StartMetrics
	// Audits counts how often the book was added up again; nil: nobody does.
	Audits *AuditMetrics
	// PodLevelEarly: see intake.Env.
	PodLevelEarly bool
	DRA           DRA
	Now           func() time.Time
	Log           logr.Logger
}

// Loop is the ledger. Make one with New, then Start it; only one may run
// against a cluster at a time.
type Loop struct {
	Options
	inbox     *inbox
	book      *book.Book
	planner   *decide.Planner
	jobs      map[types.UID]*tracked
	stale     map[types.UID]*tracked  // to be judged again
	refused   map[types.UID]*tracked  // by the API server, not long ago
	late      map[types.UID]*tracked  // of whom a rule took too long, not long ago
	ghosts    map[types.UID]time.Time // pods that count as holding devices till then
	world     world
	perDevice map[string]string // by which Jobs and pods were read: intake.Env has it
	devices   devices
	volumes   volumes
	standing  standing
	work      chan func(context.Context)
	underWay  *underWay // of what work is about
	writer    apply.Writer
	talk      talk
	published map[string]*published // by queue
	toPublish map[string]bool       // queues whose status may have to be written
	toTell    []string              // UIDs of Jobs that may have to be told why they wait
	telling   map[string]bool       // the same
	catalog   catalogState
	beside    catalogState            // of the shadow
	asked     []chan<- []rollout.Live // for the Jobs, and not answered yet
	starts    starts                  // of those who wait
	began     atomic.Int64            // when the round that runs did, in nanoseconds; 0: none runs
	auditing  bool                    // somebody adds the book up again
	synced    chan struct{}           // closed once everything was seen
	since     time.Time               // when that was
}

// standing is what goes into every plan, by Job UID, kept up to date change by
// change.
type standing struct {
	verdicts map[string]decide.Outcome
	of       string // the policies that this is of, the one in force and the shadow
	holds    map[string]decide.HoldAnswer
	noes     map[string]bool // holds that are a "no"
	touched  map[string]bool // since the last plan
	busy     map[string]bool // in the hands of the writers
	spared   map[decide.Displacement]spared
}

// New makes a loop.
func New(o Options) *Loop {
	l := &Loop{
		Options: o,
		inbox:   newInbox(),
		book:    book.New(),
		planner: decide.NewPlanner(),
		jobs:    map[types.UID]*tracked{},
		stale:   map[types.UID]*tracked{},
		refused: map[types.UID]*tracked{},
		late:    map[types.UID]*tracked{},
		ghosts:  map[types.UID]time.Time{},
		world:   newWorld(),
		devices: newDevices(),
		volumes: newVolumes(),
		standing: standing{
			verdicts: map[string]decide.Outcome{},
			holds:    map[string]decide.HoldAnswer{},
			noes:     map[string]bool{},
			touched:  map[string]bool{},
			busy:     map[string]bool{},
			spared:   map[decide.Displacement]spared{},
		},
		work:      make(chan func(context.Context), 4*inFlightMax),
		underWay:  newUnderWay(),
		writer:    apply.Writer{Client: o.Client},
		talk:      newTalk(),
		synced:    make(chan struct{}),
		published: map[string]*published{},
		toPublish: map[string]bool{},
		telling:   map[string]bool{},
		starts:    newStarts(),
	}
	l.book.AskGives(l.devices.gives)
	return l
}

// PolicyChanged tells the loop that another revision is in force.
func (l *Loop) PolicyChanged() { l.inbox.put(func(*batch) {}) }

// Synced tells whether the loop has seen the whole cluster and decides.
func (l *Loop) Synced() bool {
	select {
	case <-l.synced:
		return true
	default:
		return false
	}
}

// Healthy tells whether the loop gets on: a round that does not end decides
// nothing for anybody, and only a restart helps.
func (l *Loop) Healthy() error {
	began := l.began.Load()
	if took := l.Now().Sub(time.Unix(0, began)); began != 0 && took > roundMax {
		return fmt.Errorf("the ledger's round has not ended for %s", took.Round(time.Second))
	}
	return nil
}

// Start runs the loop until ctx ends. Nothing is decided before every watch has
// delivered everything that there is: what runs is charged before anything new
// is admitted.
func (l *Loop) Start(ctx context.Context) error {
	if err := l.watch(ctx); err != nil {
		return err
	}
	for range writers {
		go write(ctx, l.work)
	}
	for range talkers {
		go write(ctx, l.talk.work)
	}
	go l.estimate(ctx)
	l.Log.Info("the ledger has seen the cluster and starts to decide")
	l.since = l.Now()
	close(l.synced)
	audit := time.NewTicker(auditEvery)
	defer audit.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	pause := batchPause
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.inbox.wake:
			time.Sleep(pause)
		case <-timer.C:
		case <-audit.C:
			l.audit()
		}
		began := time.Now()
		next := l.round(ctx)
		timer.Reset(next)
		pause = min(max(batchPause, time.Since(began)), batchPauseMax)
	}
}

// round takes what changed, plans and carries out; it returns how long the plan
// stands if nothing else happens.
func (l *Loop) round(ctx context.Context) time.Duration {
	started := l.Now()
	l.began.Store(started.UnixNano())
	defer l.began.Store(0)
	revision := l.Policy()
	news := l.inbox.take()
	if revision != nil {
		l.book.Follow(revision.Catalog())
		l.countPerDevice(ctx, revision.Catalog(), &news)
	}
	l.observe(news)
	if news.audited != nil {
		l.audited(*news.audited)
	}
	overdue := l.book.Tick(started.UnixNano())
	fresh := l.freshCatalogs(ctx, revision, started)
	l.asked = append(l.asked, news.asked...)
	plan := l.plan(ctx, revision, started)
	l.answer(&plan, started)
	l.show(news.pictures, revision, started)
	next := min(fresh, l.carryOut(plan, started))
	next = min(next, l.publish(started))
	for _, till := range l.ghosts {
		next = min(next, till.Sub(started))
	}
	if overdue > 0 {
		next = min(next, time.Unix(0, overdue).Sub(started))
	}
	if plan.More && len(l.standing.busy) < inFlightMax || len(l.stale) > 0 {
		next = 0
	}
	if n := len(plan.Admit) + len(plan.Suspend); n > 0 {
		l.Log.V(1).Info("round", "admitted", len(plan.Admit), "suspended", len(plan.Suspend),
			"took", l.Now().Sub(started).String())
	}
	return max(next, time.Millisecond)
}

// plan asks the policy what is wanted, and the core what is possible, until the
// core has nothing left to ask.
func (l *Loop) plan(ctx context.Context, revision *engine.Revision, now time.Time) decide.Result {
	l.judgeChanged(ctx, revision, now)
	l.dropOldHolds(now)
	in := decide.Input{
		Snapshot:   l.book.Snapshot(),
		Verdicts:   l.standing.verdicts,
		Namespaces: l.world.labels,
		Holds:      l.standing.holds,
		Busy:       l.standing.busy,
		Since:      l.since.UnixNano(),
		Now:        now.UnixNano(),
		Limit:      max(1, inFlightMax-len(l.standing.busy)),
		Survey:     len(l.asked) > 0,
	}
	in.Held, in.Drained = l.heldQueues()
	if revision != nil {
		// Of whom hold is not asked has a standing answer.
		in.Catalog, in.Revision, in.AskHold = revision.Catalog(), revision.Digest(), true
		in.AskProtect, in.Protects = revision.HasProtect(), l.protects(now)
	}
	plan := l.planOnce(&in)
	var yes []string // for this round only
	defer func() {
		for _, uid := range yes {
			delete(l.standing.holds, uid)
			l.standing.touched[uid] = true
		}
	}()
	began := l.Now() // what judging took is no reason to ask nobody
	for range asksMax {
		if len(plan.Asks)+len(plan.AskProtect) == 0 {
			return plan
		}
		for _, uid := range plan.Asks {
			if l.Now().Sub(began) > askBudget {
				break // slow rules hold those they are about, not everybody
			}
			answer := l.askHold(ctx, revision, uid, plan, now)
			if l.standing.touched[uid] = true; answer.Reason == nil || !l.standing.noes[uid] {
				in.Holds[uid] = answer
				yes = append(yes, uid)
			}
		}
		for _, ask := range plan.AskProtect {
			if l.Now().Sub(began) > askBudget {
				break
			}
			in.Protects[ask.Displacement] = l.askProtect(ctx, revision, ask, now)
			l.standing.touched[ask.Victim] = true
		}
		plan = l.planOnce(&in)
		if l.Now().Sub(began) > askBudget {
			break
		}
	}
	plan.More = plan.More || len(plan.Asks)+len(plan.AskProtect) > 0 // those stay held until they were asked about
	return plan
}

// planOnce plans with what is known by now.
func (l *Loop) planOnce(in *decide.Input) decide.Result {
	in.Touched = slices.Collect(maps.Keys(l.standing.touched))
	clear(l.standing.touched)
	in.Snapshot = l.book.Snapshot()
	plan := l.planner.Plan(*in)
	l.hear(&plan)
	return plan
}

// revision is the digest of the policy in force, empty if there is none.
func (l *Loop) revision() string { return digestOf(l.Policy()) }

func digestOf(revision *engine.Revision) string {
	if revision == nil {
		return ""
	}
	return revision.Digest()
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
