package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// talk is what is written only to tell: why Jobs wait, the statuses of queues,
// events. It has writers of its own, so that nobody's start comes after it.
type talk struct {
	work     chan func(context.Context)
	explain  *rate.Limiter
	statuses *rate.Limiter
	terse    *rate.Limiter // of all together

	admitted, suspended, differ *rate.Limiter // events only
}

func newTalk() talk {
	return talk{
		work:     make(chan func(context.Context), toldMax),
		explain:  rate.NewLimiter(explainPerSecond, explainBurst),
		statuses: rate.NewLimiter(statusesPerSecond, statusesPerSecond),
		terse:    rate.NewLimiter(tersePerSecond, tersePerSecond),

		admitted:  rate.NewLimiter(eventsPerSecond, eventsBurst),
		suspended: rate.NewLimiter(eventsPerSecond, eventsBurst),
		differ:    rate.NewLimiter(eventsPerSecond, eventsBurst),
	}
}

// full: no more can be told now, and the loop must not wait until it can.
func (t *talk) full() bool { return len(t.work) == cap(t.work) }

// may tells whether something may be told now. While most writers are busy with
// decisions, whatever is told makes a start late, so it is little.
func (l *Loop) may(now time.Time, limit *rate.Limiter) bool {
	if len(l.standing.busy) > busyWriters && !l.talk.terse.AllowN(now, 1) {
		return false
	}
	return limit.AllowN(now, 1)
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
	brief, waits := l.planner.Brief(uid)
	if !waits || t == nil || t.job == nil {
		return 0, true
	}
	if t.waits != brief {
		t.waits, t.waitsSince = brief, now
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
	if !t.reworded && says(t, &w, label) && (t.toldOf == "" || t.toldOf == w.Queue) {
		t.toldOf = w.Queue
		return 0, true
	}
	if l.talk.full() || !l.may(now, l.talk.explain) {
		return time.Second / explainPerSecond, false
	}
	t.reworded = false
	e := l.explanation(t, &w, label, now)
	l.fly(t, l.talk.work, func(ctx context.Context, raw *batchv1.Job) written {
		return written{outcome: l.writer.Explain(ctx, raw, e), explain: &e}
	})
	return auditEvery, true // until the Job says so
}

func (l *Loop) explanation(t *tracked, w *decide.Waiting, label string, now time.Time) effect.Explain {
	e := effect.Explain{Job: t.job, Queue: w.Queue, State: label, Reason: w.Reason}
	if nodes := l.planner.Nodes(t.job.UID); len(nodes) > 0 {
		e.Nodes = &demand.Nodes{UID: t.job.UID, Time: now.UnixNano(), Flavors: nodes}
	}
	return e
}

// reword has a Job told again, by the same code, when something else can't be counted of
// it than what was last said: what was named may be there by now. In between it may have
// been countable, for as long as nobody had looked at its devices.
func (l *Loop) reword(t *tracked) {
	if t.job.Problem == nil || t.job.Problem.Message == t.problem {
		return
	}
	first := t.problem == ""
	if t.problem = t.job.Problem.Message; first {
		return
	}
	t.reworded = true
	if uid := t.job.UID; !l.telling[uid] {
		l.telling[uid] = true
		l.toTell = append(l.toTell, uid)
	}
}

// says tells whether all that is to be said stands on the Job already.
func says(t *tracked, w *decide.Waiting, label string) bool {
	job := t.job
	if job.MessageCode != w.Reason.Code || job.State != label || job.InQueue != job.Elsewhere(w.Queue) {
		return false
	}
	if w.Steady == "" {
		return true
	}
	_, told := reason.SplitLine(t.raw.Annotations[policies.AnnotationMessage])
	return reason.Steady(told) == w.Steady
}

// told emits the event of a write that succeeded.
func (l *Loop) told(t *tracked, w written) {
	switch {
	case w.admit != nil:
		l.startedAt(string(t.raw.UID), w.admit.Reservation.Time)
		if l.may(l.Now(), l.talk.admitted) {
			l.event(t.raw, corev1.EventTypeNormal, "Admitted", "Admit", admitted(w.admit))
		}
	case w.suspend != nil:
		if l.may(l.Now(), l.talk.suspended) {
			l.event(t.raw, corev1.EventTypeWarning, string(w.suspend.Reason.Code), "Suspend", "taken back: "+w.suspend.Reason.Message)
		}
	case w.explain != nil:
		t.toldOf = w.explain.Queue
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
	if asked := a.Job.PodSets[0].Pods(); set.Count < asked {
		pods = fmt.Sprintf("%d of %d pods", set.Count, asked)
	}
	text := fmt.Sprintf("queue %s lets %s start on %s", a.Reservation.Queue, pods, flavorNames(set.Flavors))
	if set.Domains != nil {
		text += ", " + set.Domains.String()
	}
	if n := a.Reservation.Machines; n > 0 {
		text += "; " + reason.MoreMachines(n)
	}
	if names := a.Job.PodSets[0].Place.Unverified; len(names) > 0 {
		text += "; " + reason.Unverified(names)
	}
	return text
}

// flavorNames lists the flavors that a pod set got, each once.
func flavorNames(flavors map[string]string) string {
	names := slices.Sorted(maps.Values(flavors))
	return strings.Join(slices.Compact(names), ", ")
}

func (l *Loop) event(job *batchv1.Job, kind, why, action, note string) {
	l.Events.Eventf(job, nil, kind, why, action, "%s", reason.Note(note))
}
