package witness

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/test/plane/history"
)

// Load is what an Account is about.
type Load struct {
	Namespace string              // of the Jobs that are judged; all other pods are strangers
	Resource  corev1.ResourceName // that is counted
	Patience  time.Duration       // a pod that nobody can place for longer is stuck
	// Label names the queue of Jobs and pods, and Quota what the pods of each may hold.
	Label string
	Quota map[string]int64
}

// Account of a load. It is not safe for concurrent use.
type Account struct {
	load  Load
	jobs  map[types.UID]*job
	pods  map[types.UID]*pod
	nodes map[string]*node
	held  map[string]int64 // by the pods of a queue, bound or not
	taken map[string]int64 // by queue: what its Jobs may still run or their pods hold

	waiting map[types.UID]*job
	line    line

	idle   int64 // now: reserved, and nobody runs on it
	area   float64
	since  time.Duration
	counts Counts
}

// Counts is what came of a load so far.
type Counts struct {
	Created, Started, Again, Completed, Failed int // Jobs; Again: started once more
	First, Last                                time.Duration
	Stuck                                      []string      // pods that could not be placed for longer than is patient
	Longest                                    time.Duration // that a pod could not be placed
	Idle                                       float64       // resource × seconds
	Broken                                     []string      // promises, the first few
}

// Makespan is from the first Job to the end of the last.
func (c Counts) Makespan() time.Duration { return c.Last - c.First }

const brokenMax = 20

// job is one Job of the load.
type job struct {
	uid                 types.UID
	name, queue         string
	each                int64 // what one pod asks for
	want, done          int64 // pods
	running, live       int64
	bound               int64 // of those that live
	admitted, over, ran bool
	selector            map[string]string
}

// NewAccount of a load that has not begun.
func NewAccount(load Load) *Account {
	return &Account{
		load: load, jobs: map[types.UID]*job{}, pods: map[types.UID]*pod{}, nodes: map[string]*node{},
		held: map[string]int64{}, taken: map[string]int64{}, waiting: map[types.UID]*job{},
	}
}

// Event takes what happened at a time since the beginning.
func (a *Account) Event(e history.Event, at time.Duration) {
	a.area += float64(a.idle) * (at - a.since).Seconds()
	a.since = at
	switch {
	case e.Change == history.Missed:
		a.broken(at, "the account has a gap: %s", e.Problem)
	case e.Job != nil:
		if e.Job.Namespace == a.load.Namespace {
			a.job(e, at)
		}
	case e.Pod != nil:
		a.pod(e, at)
	case e.Node != nil:
		a.node(e)
	}
}

// Counts until a time.
func (a *Account) Counts(at time.Duration) Counts {
	for _, p := range a.pods {
		a.patience(p, at)
	}
	c := a.counts
	c.Idle = a.area + float64(a.idle)*(at-a.since).Seconds()
	return c
}

// Over tells whether this many Jobs were created and all have ended.
func (a *Account) Over(jobs int) bool {
	return a.counts.Created == jobs && a.counts.Completed+a.counts.Failed == jobs
}

func (a *Account) broken(at time.Duration, format string, args ...any) {
	if len(a.counts.Broken) < brokenMax {
		a.counts.Broken = append(a.counts.Broken, fmt.Sprintf("after %.1f s: ", at.Seconds())+fmt.Sprintf(format, args...))
	}
}

// jobOf is what is known of a Job, whose pods may be seen before it is.
func (a *Account) jobOf(uid types.UID) *job {
	if a.jobs[uid] == nil {
		a.jobs[uid] = &job{uid: uid}
	}
	return a.jobs[uid]
}

// job takes a version of a Job.
func (a *Account) job(e history.Event, at time.Duration) {
	j := a.jobOf(e.Job.UID)
	a.alter(j, func() {
		if j.name == "" {
			a.meet(j, e.Job, at)
		}
		a.judge(j, e, at)
	})
}

func (a *Account) meet(j *job, from *batchv1.Job, at time.Duration) {
	j.name, j.queue, j.want = from.Name, from.Labels[a.load.Label], 1
	j.selector = from.Spec.Template.Spec.NodeSelector
	if n := from.Spec.Completions; n != nil {
		j.want = int64(*n)
	}
	j.each = asked(&from.Spec.Template.Spec, a.load.Resource)
	if a.counts.Created == 0 {
		a.counts.First = at
	}
	a.counts.Created++
}

// judge what a version of a Job says of it.
func (a *Account) judge(j *job, e history.Event, at time.Duration) {
	was := j.admitted
	j.admitted = e.Change != history.Deleted && (e.Job.Spec.Suspend == nil || !*e.Job.Spec.Suspend)
	if j.admitted && !was {
		a.line.started(at)
		if j.ran {
			a.counts.Again++
		} else {
			a.counts.Started++
		}
		j.ran = true
	}
	if complete, failed := ended(e.Job); !j.over && (complete || failed) {
		j.over = true
		a.counts.Last = at
		if complete {
			a.counts.Completed++
		} else {
			a.counts.Failed++
		}
	}
	if !j.admitted && !j.over && e.Change != history.Deleted {
		a.waiting[j.uid] = j
	} else {
		delete(a.waiting, j.uid)
	}
}

// alter changes what is known of a Job, and all sums with it.
func (a *Account) alter(j *job, change func()) {
	a.idle -= j.idle()
	a.taken[j.queue] -= j.taken()
	change()
	a.idle += j.idle()
	a.taken[j.queue] += j.taken()
}

// idle is what a Job has that runs, and nobody runs on: pods that are not there yet, wait
// for a node, or wait on it.
func (j *job) idle() int64 {
	if !j.admitted || j.over {
		return 0
	}
	return j.each * max(0, j.want-j.done-j.running)
}

func (j *job) taken() int64 {
	if !j.admitted || j.over {
		return j.each * j.live
	}
	return j.each * max(j.want-j.done, j.live)
}

// ended: its controller has said so.
func ended(job *batchv1.Job) (complete, failed bool) {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			complete = complete || c.Type == batchv1.JobComplete
			failed = failed || c.Type == batchv1.JobFailed
		}
	}
	return complete, failed
}

// asked is how much of a resource one pod asks for. Devices are limits, and requests are
// the same.
func asked(spec *corev1.PodSpec, name corev1.ResourceName) int64 {
	var sum int64
	for i := range spec.Containers {
		amount := spec.Containers[i].Resources.Limits[name]
		sum += amount.Value()
	}
	return sum
}
