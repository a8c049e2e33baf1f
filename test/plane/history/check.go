package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/policies"
)

// Check replays a history, sorted by version, and returns what broke the rules.
func Check(events []Event, rules Rules) []Violation {
	c := &checker{rules: rules, world: newWorld(rules.Conversions), stories: map[types.UID]*story{}, complained: map[types.UID]bool{}}
	for _, e := range events {
		c.event(e)
	}
	if rules.RanOnce {
		c.ranOnce()
	}
	return c.found
}

type checker struct {
	rules      Rules
	world      *world
	stories    map[types.UID]*story
	charged    charges            // after the last event
	complained map[types.UID]bool // pods that were reported as unschedulable
	found      []Violation
}

func (c *checker) event(e Event) {
	switch {
	case e.Change == Missed:
		c.report("gap", e, "%s", e.Problem)
	case e.Job != nil:
		before := c.world.jobs[e.Job.UID]
		c.world.apply(e)
		c.quota(e, c.lifts(e, before))
		if e.Change != Deleted {
			c.job(e, before)
		}
	case e.Pod != nil:
		before := c.world.pods[e.Pod.UID]
		c.world.apply(e)
		c.quota(e, nil)
		if e.Change != Deleted {
			c.pod(e, before)
		}
	default:
		c.world.apply(e)
	}
}

// quota judges whatever adds to what a queue is charged, and every lift, which
// may also come when too much is charged already.
func (c *checker) quota(e Event, lifted charges) {
	if len(c.rules.Limits) == 0 {
		return
	}
	was := c.charged
	c.charged = c.world.charged()
	if e.Change == Existed {
		return // nobody did it now
	}
	for _, k := range sortedRows(c.charged) {
		limit, limited := c.rules.limit(k, e.Version)
		_, takes := lifted[k]
		if limited && c.rules.judges(k.queue) && c.charged[k] > limit && (takes || c.charged[k] > was[k]) {
			c.report("quota", e, "queue %s then held %d of %s on flavor %s, and %d were allowed", k.queue, c.charged[k], k.resource, k.flavor, limit)
			c.found[len(c.found)-1].Holders = c.world.holders(k)
		}
	}
}

// lifts is what a Job takes if this event ended its suspension.
func (c *checker) lifts(e Event, before *batchv1.Job) charges {
	if e.Change == Deleted || before == nil || !suspended(before) || !c.world.admitted(e.Job) {
		return nil
	}
	return c.world.claim(e.Job)
}

// job judges a new version of a Job. What it did to get out of the queues that
// are judged is judged too.
func (c *checker) job(e Event, before *batchv1.Job) {
	job := e.Job
	if !c.rules.judges(queueOf(job)) && (before == nil || !c.rules.judges(queueOf(before))) {
		return
	}
	s := c.story(job.UID)
	s.last = job
	c.rewritten(e, before)
	switch {
	case suspended(job) && before != nil && !suspended(before):
		s.suspensions++
	case suspended(job), over(job):
	case before == nil && e.Change == Added:
		c.report("authority", e, "created unsuspended, though in queue %q", queueOf(job))
	case before == nil:
	case suspended(before):
		s.lifts++
		c.lift(e, before)
	case !sameReservation(before, job):
		c.report("once", e, "admitted again while it was not suspended")
	}
}

// rewritten judges a change of what the ledger wrote for good: nobody changes a
// reservation while the Job runs, nor, for then the ledger writes nothing more,
// while it is being deleted.
func (c *checker) rewritten(e Event, before *batchv1.Job) {
	if before == nil {
		return
	}
	runs := !suspended(before) && !suspended(e.Job)
	was, there := before.Annotations[policies.AnnotationReservation]
	is, still := e.Job.Annotations[policies.AnnotationReservation]
	if (runs || before.DeletionTimestamp != nil) && (was != is || there != still) {
		c.report("authority", e, "its reservation was changed, from %q to %q, while it was admitted or being deleted", was, is)
	}
}

// lift judges the end of a suspension.
func (c *checker) lift(e Event, before *batchv1.Job) {
	job := e.Job
	if over(before) || job.DeletionTimestamp != nil {
		c.report("terminal", e, "admitted, though finished or being deleted")
	}
	if reservation(job) == nil && job.Annotations[policies.AnnotationBypass] == "" {
		c.report("authority", e, "lifted without a reservation of its own, and without a bypass")
	}
}

func sameReservation(a, b *batchv1.Job) bool {
	x, y := reservation(a), reservation(b)
	return x == nil || y == nil || x.Time == y.Time
}

// pod judges a new version of a pod.
func (c *checker) pod(e Event, before *corev1.Pod) {
	pod := e.Pod
	bound := pod.Spec.NodeName != "" && (before == nil || before.Spec.NodeName == "")
	if bound && e.Change != Existed {
		c.devices(e)
	}
	job := c.world.owner(pod)
	queue := pod.Labels[policies.LabelQueue]
	if job != nil {
		queue = cmp.Or(queue, queueOf(job))
	}
	if !c.rules.judges(queue) {
		return
	}
	if uid := jobOf(pod); job != nil || uid != "" && c.world.jobs[uid] == nil { // its Job may be gone
		c.story(uid).pods[pod.UID] = true
	}
	if why, is := unschedulable(pod); is && !c.rules.Homeless && !c.complained[pod.UID] {
		c.complained[pod.UID] = true
		c.report("unschedulable", e, "%s", why)
	}
}

// BeingAllocated is what the scheduler says of a pod that comes to a shared claim just as
// it allocates that for another one: it looks at it again when that is done.
const BeingAllocated = "is in the process of being allocated"

func unschedulable(pod *corev1.Pod) (string, bool) {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable {
			return condition.Message, !strings.Contains(condition.Message, BeingAllocated)
		}
	}
	return "", false
}

// fromNode is what a pod has of what its node says is allocatable: not what the scheduler
// gives it by a claim.
func fromNode(pod *corev1.Pod) map[string]int64 {
	amounts := asks(pod)
	if given := pod.Status.ExtendedResourceClaimStatus; given != nil {
		for _, m := range given.RequestMappings {
			delete(amounts, m.ResourceName)
		}
	}
	return amounts
}

// devices judges the binding of a pod: only what it asks for itself, so that a
// node whose allocatable shrank is not held against a pod that needs none of it.
func (c *checker) devices(e Event) {
	node := c.world.nodes[e.Pod.Spec.NodeName]
	if node == nil {
		return
	}
	held := map[string]int64{}
	for _, pod := range c.world.sortedPods() {
		if pod.Spec.NodeName == node.Name && holds(pod) {
			for name, amount := range fromNode(pod) {
				held[name] += amount
			}
		}
	}
	has := count(node.Status.Allocatable)
	takes := fromNode(e.Pod)
	for _, name := range sortedKeys(takes) {
		if takes[name] > 0 && held[name] > has[name] {
			c.report("devices", e, "bound to node %s, whose pods then held %d of %s, and it has %d", node.Name, held[name], name, has[name])
		}
	}
}

func (c *checker) report(rule string, e Event, format string, args ...any) {
	v := Violation{Rule: rule, Version: e.Version, Message: fmt.Sprintf(format, args...)}
	switch {
	case e.Job != nil:
		v.Object = "job/" + e.Job.Namespace + "/" + e.Job.Name
	case e.Pod != nil:
		v.Object = "pod/" + e.Pod.Namespace + "/" + e.Pod.Name
	}
	c.found = append(c.found, v)
}

func sortedRows(c charges) []row {
	rows := make([]row, 0, len(c))
	for k := range c {
		rows = append(rows, k)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.queue, b.queue), cmp.Compare(a.flavor, b.flavor), cmp.Compare(a.resource, b.resource))
	})
	return rows
}

func sortedKeys(m map[string]int64) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
