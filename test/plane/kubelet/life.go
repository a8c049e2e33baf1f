package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// state of a pod on its node.
type state int

const (
	fresh   state = iota // bound, not looked at yet
	running              // holds what it asked for
	ended                // its process is gone, or never was
)

// life is one pod on its node, as its kubelet knows it. The pod is the newest
// version that was seen; everything else is the kubelet's own and never read
// back from the API server, so a watch that lags behind our writes does no harm.
type life struct {
	pod      *corev1.Pod
	script   script
	state    state
	since    time.Time // the process's start
	started  time.Time // the pod's
	ended    time.Time
	exitCode int32
	restarts int32
	refused  *refusal
	// claims of the pod, which somebody has to read before it begins.
	claims     []claim
	claimsRead bool

	// changes counts what has to be reported, reported what was.
	changes, reported int
	removed           bool // the last deletion was sent
}

// advance moves the life on to now.
func (l *life) advance(t *table, now time.Time) {
	if l.state == fresh {
		l.begin(t, now)
	}
	l.follow()
	for l.state == running {
		end, code := l.end()
		if now.Before(end) {
			return
		}
		if l.restartsAfter(code) {
			l.restarts++
			l.exitCode, l.since = code, end.Add(restartPause)
			l.changes++
			continue
		}
		l.finish(t, end, code)
	}
}

// follow reads the script anew: what a process does may be said while it runs.
func (l *life) follow() {
	if l.state != running {
		return
	}
	if script, err := readScript(l.pod); err == nil {
		l.script = script
	}
}

// begin decides what becomes of a pod that the node sees for the first time.
func (l *life) begin(t *table, now time.Time) {
	if terminal(l.pod) {
		l.state = ended
		return
	}
	script, err := readScript(l.pod)
	l.script, l.since, l.started = script, now, now
	switch {
	case l.pod.Status.Phase == corev1.PodRunning: // under a fleet before us
		t.hold(l.pod, l.claims...)
		l.state = running
		if start := l.pod.Status.StartTime; start != nil {
			l.since, l.started = start.Time, start.Time
		}
		return
	case l.pod.DeletionTimestamp != nil: // before it could start
		l.finish(t, now, exitKilled)
		return
	case err != nil:
		l.refused = &refusal{"UnexpectedAdmissionError", "Pod was rejected: " + err.Error()}
	default:
		l.refused = t.admit(l.pod, l.claims...)
	}
	if l.refused != nil {
		l.finish(t, now, 0)
		return
	}
	l.state = running
	l.changes++
}

func (l *life) finish(t *table, at time.Time, code int32) {
	t.release(l.pod.UID)
	l.state, l.ended, l.exitCode = ended, at, code
	l.changes++
}

// end says when the process ends as things are now, and with what. Told to
// stop, it ends at the latest with the grace period.
func (l *life) end() (time.Time, int32) {
	byItself := l.since.Add(l.script.run)
	if l.pod.DeletionTimestamp == nil {
		return byItself, l.script.exitCode
	}
	killed := l.pod.DeletionTimestamp.Time
	if grace := l.pod.DeletionGracePeriodSeconds; grace != nil && *grace == 0 {
		killed = killed.Add(l.script.ghost) // by force: nobody waits for it
	}
	stopped, code := killed, int32(exitKilled)
	if l.script.stop != defaultStop {
		if told := l.told().Add(l.script.stop); told.Before(killed) {
			stopped, code = told, exitTold
		}
	}
	if byItself.Before(stopped) {
		return byItself, l.script.exitCode
	}
	return stopped, code
}

// told is when the process was asked to stop: the deletion timestamp lies the
// grace period after that.
func (l *life) told() time.Time {
	told := l.pod.DeletionTimestamp.Time
	if grace := l.pod.DeletionGracePeriodSeconds; grace != nil {
		told = told.Add(-time.Duration(*grace) * time.Second)
	}
	return told
}

func (l *life) restartsAfter(code int32) bool {
	if l.pod.DeletionTimestamp != nil {
		return false
	}
	switch l.pod.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return true
}

// duty is what has to be written about a pod next.
type duty int

const (
	nothing duty = iota
	report
	remove
)

// due says what to write: first what happened, then, when it is over and asked
// for, that the object may go.
func (l *life) due() duty {
	switch {
	case l.changes > l.reported:
		return report
	case l.state == ended && l.pod.DeletionTimestamp != nil && !l.removed:
		return remove
	}
	return nothing
}

// wake is when the life moves on without anybody doing anything.
func (l *life) wake() (time.Time, bool) {
	if l.state != running {
		return time.Time{}, false
	}
	end, _ := l.end()
	return end, true
}

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
