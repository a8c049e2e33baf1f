package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/reason"
)

// carryOut hands a plan's effects to the writers. An admission is booked before
// it is written, so that the next plan cannot give the same room away again. It
// returns how long until time alone asks for another round.
func (l *Loop) carryOut(plan decide.Result, now time.Time) time.Duration {
	for i := range plan.Suspend {
		l.suspend(&plan.Suspend[i])
	}
	for i := range plan.Admit {
		l.admit(&plan.Admit[i])
	}
	next := l.tell(now)
	for _, t := range l.refused {
		next = min(next, t.notTill.Sub(now))
	}
	if plan.WakeAt > 0 {
		next = min(next, time.Unix(0, plan.WakeAt).Sub(now))
	}
	return next
}

func (l *Loop) admit(a *effect.Admit) {
	t := l.jobs[types.UID(a.Job.UID)]
	if t == nil || l.standing.busy[string(t.raw.UID)] || t.job != a.Job {
		return // decided on something that is no longer so; the next round sees it
	}
	if l.unstart(t) {
		return // then it is decided again
	}
	l.book.Assume(a.Job, a.Reservation)
	l.fly(t, func(ctx context.Context, raw *batchv1.Job) written {
		return written{outcome: l.writer.Admit(ctx, raw, *a), admit: a}
	})
}

// suspend says less on the Job the second time: that there is no room for more is
// what such a write is refused for.
func (l *Loop) suspend(s *effect.Suspend) {
	t := l.jobs[types.UID(s.Job.UID)]
	if t == nil || l.standing.busy[string(t.raw.UID)] || t.job != s.Job || l.refused[t.raw.UID] != nil {
		return
	}
	s.Silent = t.refusals > 0
	if s.Preempted != nil {
		l.book.Evict(*s.Preempted)
	}
	l.fly(t, func(ctx context.Context, raw *batchv1.Job) written {
		return written{outcome: l.writer.Suspend(ctx, raw, *s), suspend: s}
	})
}

// unstart makes the template of a suspended Job mutable again, for its next
// flavor or for an edit, where the Job controller does not do so. It tells
// whether that comes before anything else.
func (l *Loop) unstart(t *tracked) bool {
	if !apply.Started(t.raw) || l.refused[t.raw.UID] != nil {
		return false
	}
	if len(l.standing.busy) >= inFlightMax {
		return true // in a later round
	}
	l.fly(t, func(ctx context.Context, raw *batchv1.Job) written {
		return written{outcome: l.writer.Unstart(ctx, raw)}
	})
	return true
}

// fly gives a Job to the writers; until they report, no other write is made.
func (l *Loop) fly(t *tracked, write func(context.Context, *batchv1.Job) written) {
	l.standing.busy[string(t.raw.UID)] = true
	l.standing.touched[string(t.raw.UID)] = true
	raw := t.raw
	l.work <- func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		done := write(ctx, raw)
		done.uid = raw.UID
		l.inbox.put(func(b *batch) { b.written = append(b.written, done) })
	}
}

// write is one writer.
func (l *Loop) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case work := <-l.work:
			work(ctx)
		}
	}
}

// observeWritten takes the report of a writer. An assumed admission is settled
// by the object that the write made, dropped when it is certain that nothing was
// written, and otherwise kept while the object is read again.
func (l *Loop) observeWritten(w written) {
	uid := string(w.uid)
	delete(l.standing.busy, uid)
	l.standing.touched[uid] = true
	t := l.jobs[w.uid]
	if t == nil { // deleted meanwhile
		l.book.Forget(uid)
		return
	}
	if w.outcome.Status == apply.Unknown {
		l.Log.Error(w.outcome.Err, "the outcome of a write is not known; reading the Job again", "job", t.raw.Namespace+"/"+t.raw.Name)
		l.fly(t, func(ctx context.Context, raw *batchv1.Job) written {
			return written{outcome: l.writer.Reread(ctx, raw), admit: w.admit, suspend: w.suspend, explain: w.explain}
		})
		return
	}
	if w.outcome.Job != nil {
		l.observeJob(w.outcome.Job)
	}
	l.book.Settle(uid) // what was observed counts by itself now, whether or not it carries the reservation
	switch w.outcome.Status {
	case apply.Done:
		t.refusals, t.mutings = 0, 0
		l.told(t, w)
	case apply.Refused:
		if w.explain != nil {
			l.mute(t, w.outcome.Err)
		} else {
			l.refuse(t, w.outcome.Err)
		}
	case apply.Moved, apply.Unknown: // decide again on what it is now
	}
}

// refuse keeps a Job that the API server will not have admitted, or taken back,
// from being tried again in a hot loop.
func (l *Loop) refuse(t *tracked, err error) {
	pause := refusedPauseAfter(t.refusals)
	t.refusals++
	t.notTill, t.refusal = l.Now().Add(pause), err.Error()
	l.refused[t.raw.UID], l.stale[t.raw.UID] = t, t
	l.sayRefused(t, pause, err)
}

// mute does the same for what is written on a Job about why it waits: it stands in
// nobody's way, and is not said as often.
func (l *Loop) mute(t *tracked, err error) {
	pause := refusedPauseAfter(t.mutings)
	t.mutings++
	t.mutedTill = l.Now().Add(pause)
	l.sayRefused(t, pause, err)
}

func refusedPauseAfter(times int) time.Duration {
	return min(refusedPause<<min(times, 10), refusedPauseMax)
}

func (l *Loop) sayRefused(t *tracked, pause time.Duration, err error) {
	l.event(t.raw, corev1.EventTypeWarning, "WriteRefused", "Write", fmt.Sprintf("the API server refuses what the queue writes on this Job, next try in %v: %v", pause, err))
	l.Log.Error(err, "write refused", "job", t.raw.Namespace+"/"+t.raw.Name, "tryAgainIn", pause.String())
}

// hear notes who waits for something new, and of which queues something is new.
func (l *Loop) hear(plan *decide.Result) {
	for _, uid := range plan.Changed {
		if !l.telling[uid] {
			l.telling[uid] = true
			l.toTell = append(l.toTell, uid)
		}
	}
	for _, name := range plan.Stale {
		l.toPublish[name] = true
	}
}

// tell writes on Jobs why they wait: only when the code or the queue changed, and
// the code has stood for a moment, a few a second, in the order in which it changed.
func (l *Loop) tell(now time.Time) time.Duration {
	next := auditEvery
	later := l.toTell[:0]
	for i, uid := range l.toTell {
		wait, goOn := l.tellOne(uid, now)
		if !goOn {
			later = append(later, l.toTell[i:]...)
			next = min(next, wait)
			break
		}
		if wait > 0 {
			later, next = append(later, uid), min(next, wait)
		} else {
			delete(l.telling, uid)
		}
	}
	clear(l.toTell[len(later):])
	l.toTell = later
	return next
}

// tellOne returns how long until it is to be tried again, 0 if nothing is left to be
// said, and false if nothing more can be said to anybody for the moment.
func (l *Loop) tellOne(uid string, now time.Time) (time.Duration, bool) {
	t := l.jobs[types.UID(uid)]
	code, waits := l.planner.Code(uid)
	if !waits || t == nil || t.job == nil {
		return 0, true
	}
	if t.waits != code {
		t.waits, t.waitsSince = code, now
	}
	if l.standing.busy[uid] || l.unstart(t) {
		return auditEvery, true // the report of the writer comes before that
	}
	if muted := t.mutedTill.Sub(now); muted > 0 {
		return muted, true
	}
	if stood := now.Sub(t.waitsSince); stood < explainAfter {
		return explainAfter - stood, true
	}
	w, _ := l.planner.Why(uid)
	label := effect.StateOf(w.Reason.Code)
	if says(t.job, &w, label) {
		return 0, true
	}
	if !l.explain.AllowN(now, 1) {
		return time.Second / explainPerSecond, false
	}
	e := effect.Explain{Job: t.job, Queue: w.Queue, State: label, Reason: w.Reason}
	l.fly(t, func(ctx context.Context, raw *batchv1.Job) written {
		return written{outcome: l.writer.Explain(ctx, raw, e), explain: &e}
	})
	return auditEvery, true // until the Job says so
}

// says tells whether all that is to be said stands on the Job already.
func says(job *demand.Job, w *decide.Waiting, label string) bool {
	return job.MessageCode == w.Reason.Code && job.State == label && job.InQueue == job.Elsewhere(w.Queue)
}

// told emits the event of a write that succeeded.
func (l *Loop) told(t *tracked, w written) {
	switch {
	case w.admit != nil:
		if l.admitted.AllowN(l.Now(), 1) {
			l.event(t.raw, corev1.EventTypeNormal, "Admitted", "Admit", admitted(w.admit))
		}
	case w.suspend != nil:
		l.event(t.raw, corev1.EventTypeWarning, string(w.suspend.Reason.Code), "Suspend", "taken back: "+w.suspend.Reason.Message)
	case w.explain != nil:
		kind := corev1.EventTypeNormal
		if reason.Of(w.explain.Reason.Code).Group == reason.GroupNeedsUser {
			kind = corev1.EventTypeWarning
		}
		l.event(t.raw, kind, string(w.explain.Reason.Code), "Wait", w.explain.Reason.Message)
	}
}

func admitted(a *effect.Admit) string {
	set := a.Reservation.PodSets[0]
	pods := reason.Pods(set.Count)
	if asked := a.Job.PodSets[0].Count; set.Count < asked {
		pods = fmt.Sprintf("%d of %d pods", set.Count, asked)
	}
	return fmt.Sprintf("queue %s lets %s start on %s", a.Reservation.Queue, pods, flavorNames(set.Flavors))
}

// flavorNames lists the flavors that a pod set got, each once.
func flavorNames(flavors map[string]string) string {
	names := slices.Sorted(maps.Values(flavors))
	return strings.Join(slices.Compact(names), ", ")
}

func (l *Loop) event(job *batchv1.Job, kind, why, action, note string) {
	l.Events.Eventf(job, nil, kind, why, action, "%s", reason.Note(note))
}
