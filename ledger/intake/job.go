package intake

import (
	"cmp"
	"math"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	resourcehelpers "k8s.io/component-helpers/resource"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	amounts "github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// PodSetName is the name of the one pod set of a batch/v1 Job.
const PodSetName = "main"

// Env is what a Job's pods depend on besides the Job.
type Env struct {
	// LimitRanges of the Job's namespace.
	LimitRanges []*corev1.LimitRange
	// RuntimeClass by name, nil if there is none. A nil function finds nothing.
	RuntimeClass func(name string) *nodev1.RuntimeClass
	// PriorityClass by name, nil if there is none; the empty name asks for the
	// global default. A nil function finds nothing.
	PriorityClass func(name string) *schedulingv1.PriorityClass
	// PodLevelEarly: the API server fills in pod-level resources before it
	// applies LimitRanges, as all before 1.37 do. The results may be far apart:
	// a pod with only pod-level limits asks for those on an older server, and on
	// a newer one for what the LimitRanges give its containers.
	PodLevelEarly bool
	// PerDevice is what containers ask for once for each of their devices:
	// policies.ResourceRules has it.
	PerDevice map[string]string
	// Claims is what the claims of a Job's pods come to, of which it has some; nil: the
	// cluster has no claims.
	Claims func(job *batchv1.Job) Claimed
	// Mounted is where the volumes of a Job's pods tie them to, of which it has some;
	// nil: nobody knows.
	Mounted func(job *batchv1.Job) Mounted
	// FirstSeen is when the ledger first saw the Job in a queue, unix
	// nanoseconds; it counts only for a Job that nobody stamped.
	FirstSeen int64
}

func (e Env) runtimeClass(name string) *nodev1.RuntimeClass {
	if e.RuntimeClass == nil {
		return nil
	}
	return e.RuntimeClass(name)
}

func (e Env) priorityClass(name string) *schedulingv1.PriorityClass {
	if e.PriorityClass == nil {
		return nil
	}
	return e.PriorityClass(name)
}

func (e Env) claimed(job *batchv1.Job) Claimed {
	claims := job.Spec.Template.Spec.ResourceClaims
	switch {
	case len(claims) == 0:
		return Claimed{}
	case e.Claims == nil:
		none := reason.UncountableClaim(claims[0].Name, "the API server does not serve resource.k8s.io/v1")
		return Claimed{Problem: &none}
	}
	return e.Claims(job)
}

func (e Env) mounted(job *batchv1.Job) Mounted {
	names := tying(&job.Spec.Template.Spec)
	if len(names) == 0 || e.Mounted == nil {
		return Mounted{Unverified: names}
	}
	return e.Mounted(job)
}

// Job reads a managed Job. It never fails: what cannot be counted is a Problem
// of the result, and its amounts are then held at 0 if negative and at the
// limit if too big. The Job is not changed and shares its maps with the result.
func Job(job *batchv1.Job, env Env) *demand.Job {
	at := arrival(job, env.FirstSeen)
	set, problem := podSet(job, env)
	if much := crowded(job); much != nil {
		problem = much
	}
	policy := workload(job, set, at, env)
	return &demand.Job{
		UID:             string(job.UID),
		Namespace:       job.Namespace,
		Name:            job.Name,
		ResourceVersion: job.ResourceVersion,
		Generation:      job.Generation,
		Created:         nanoseconds(job.CreationTimestamp),
		Queue:           job.Labels[policies.LabelQueue],
		Arrival:         at,
		PodSets:         []demand.PodSet{set},
		Problem:         problem,
		Suspended:       suspended(job),
		Finished:        Finished(job),
		Deleting:        job.DeletionTimestamp != nil,
		HeldByOwner:     Held(job.Annotations),
		Bypass:          bypass(job),
		Reservation:     reservation(job),
		Backoff:         backoff(job),
		MaxRuntimeSec:   maxRuntime(job),
		Ran:             ran(job),
		Preempted:       preempted(job),
		State:           job.Labels[policies.LabelState],
		MessageCode:     messageCode(job),
		InQueue:         job.Annotations[policies.AnnotationInQueue],
		Active:          max(0, int64(job.Status.Active)),
		Terminating:     terminating(job),
		Ended:           int64(job.Status.Succeeded) + int64(job.Status.Failed),
		Succeeded:       int64(job.Status.Succeeded),
		Started:         started(job),
		Policy:          policy,
		Digest:          digest(policy),
	}
}

func messageCode(job *batchv1.Job) reason.Code {
	code, _ := reason.SplitLine(job.Annotations[policies.AnnotationMessage])
	return code
}

// podSet is what the Job wants to run now, and what is wrong with that.
func podSet(job *batchv1.Job, env Env) (demand.PodSet, *reason.Reason) {
	pod, unreadable := podOf(ownSpec(job), env)
	requests, uncountable := requests(pod, resourcehelpers.PodResourcesOptions{})
	claimed, mounted := env.claimed(job), env.mounted(job)
	count, most := wantActive(job), peak(job)
	set := demand.PodSet{
		Name:     PodSetName,
		Count:    count,
		MinCount: least(job, count),
		Requests: requests,
		Place:    place(&pod.Spec, siblings{job.Namespace, job.Spec.Template.Labels}, mounted.Unverified),
		Labels:   job.Spec.Template.Labels,
		Topology: topology(job),
		Limits:   limits(pod, resourcehelpers.PodResourcesOptions{}),
		Terms:    terms(&pod.Spec),
	}
	if class := env.priorityClass(""); set.Terms.PriorityClass == "" && class != nil {
		set.Terms.PriorityClass = class.Name
	}
	set.Place.Claimed, set.Place.Devices, set.Terms.Claims = claimed.Charged, claimed.Devices, claimed.Made
	set.Place.Pins = slices.Concat(mounted.Pins, claimed.Pins)
	var apart *reason.Reason
	if claimed.Together {
		apart = apartTogether(&pod.Spec, siblings{job.Namespace, job.Spec.Template.Labels}, count)
		together(&set)
		most = set.Count
	}
	set.Requests.AddTo(claimed.Charged, 1)
	return set, cmp.Or(unreadable, uncountable, claimed.Problem, mounted.Problem, uncountableTotal(set.Requests, most), apart,
		shareOfCard(job.Spec.Template.Annotations), badLeast(job), badMaxRuntime(job), badTopology(job), noPriorityClass(&pod.Spec, env))
}

func noPriorityClass(spec *corev1.PodSpec, env Env) *reason.Reason {
	name := spec.PriorityClassName
	if name == "" || env.priorityClass(name) != nil {
		return nil
	}
	missing := reason.MissingPriorityClass(name)
	return &missing
}

// uncountableTotal is a sum over all pods that an int64 cannot hold.
func uncountableTotal(perPod amounts.List, count int64) *reason.Reason {
	for _, name := range perPod.Names() {
		if amounts.Mul(perPod[name], count) == math.MaxInt64 {
			problem := reason.UncountableTotal(name, count)
			return &problem
		}
	}
	return nil
}

func suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

func terminating(job *batchv1.Job) int64 {
	if job.Status.Terminating == nil {
		return 0
	}
	return max(0, int64(*job.Status.Terminating))
}

// started: the Job controller began to run it and has not yet recorded that it
// is suspended again. As long as this holds its template cannot be changed.
func started(job *batchv1.Job) bool {
	if job.Status.StartTime == nil {
		return false
	}
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue {
			return false
		}
	}
	return true
}
