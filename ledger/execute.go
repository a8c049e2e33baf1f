package ledger

import (
	"context"
	"fmt"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
)

// carryOut hands a plan's effects to the writers. An admission is booked before
// it is written, so that the next plan cannot give the same room away again. It
// returns how long until time alone asks for another round.
func (l *Loop) carryOut(plan decide.Result, now time.Time) time.Duration {
	next := time.Duration(math.MaxInt64)
	for i := range plan.Suspend {
		s := &plan.Suspend[i]
		if wait := beginning(s.Job, now); wait > 0 {
			next = min(next, wait)
			continue // it will be planned again
		}
		l.suspend(s)
	}
	for i := range plan.Admit {
		l.admit(&plan.Admit[i])
	}
	next = min(next, l.tell(now), l.tellDifferences(now))
	for _, t := range l.refused {
		next = min(next, t.notTill.Sub(now))
	}
	if plan.WakeAt > 0 {
		next = min(next, time.Unix(0, plan.WakeAt).Sub(now))
	}
	return next
}

// beginning is for how long a Job is not to be taken back yet: it was let go, and the
// Job controller has not said that it began it. It may just be making the pods, by what
// the Job was before; nobody would know of them, and others would start beside them. It
// says so when they are made, and how many there are.
func beginning(j *demand.Job, now time.Time) time.Duration {
	if j.Started || j.Reservation == nil {
		return 0
	}
	since := now.Sub(time.Unix(0, j.Reservation.Time))
	if since < 0 {
		return 0 // by another clock
	}
	return beginMax - since
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
	l.starting(t, true)
	l.fly(t, l.work, func(ctx context.Context, raw *batchv1.Job) written {
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
	} else {
		l.book.Stop(s.Job.UID)
	}
	l.fly(t, l.work, func(ctx context.Context, raw *batchv1.Job) written {
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
	l.fly(t, l.work, func(ctx context.Context, raw *batchv1.Job) written {
		return written{outcome: l.writer.Unstart(ctx, raw)}
	})
	return true
}

// fly gives a Job to the writers; until they report, no other write is made.
func (l *Loop) fly(t *tracked, writers chan<- func(context.Context), write func(context.Context, *batchv1.Job) written) {
	ended := func() {}
	if writers == l.work { // what only tells keeps nobody waiting
		ended = l.underWay.begin()
	}
	l.standing.busy[string(t.raw.UID)] = true
	l.standing.touched[string(t.raw.UID)] = true
	raw := t.raw
	writers <- func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		done := write(ctx, raw)
		ended()
		done.uid = raw.UID
		l.inbox.put(func(b *batch) { b.written = append(b.written, done) })
	}
}

// write is one writer of what is in a channel.
func write(ctx context.Context, work <-chan func(context.Context)) {
	for {
		select {
		case <-ctx.Done():
			return
		case one := <-work:
			one(ctx)
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
		l.fly(t, l.work, func(ctx context.Context, raw *batchv1.Job) written {
			return written{outcome: l.writer.Reread(ctx, raw), admit: w.admit, suspend: w.suspend, explain: w.explain}
		})
		return
	}
	if w.outcome.Job != nil {
		l.observeJob(w.outcome.Job)
	}
	if w.admit != nil {
		l.starting(t, false)
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
