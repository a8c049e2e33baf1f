package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shape is what is created, and by which quotas.
type shape struct {
	cohorts, queues int   // queues of each cohort
	nominal, borrow int64 // of each queue
	classes         []class
}

// class is the Jobs of one size.
type class struct {
	name     string
	count    int           // in each queue
	every    time.Duration // they are created at this pace, in each queue
	run      time.Duration
	priority int
	request  int64
}

// kueues is the shape of Kueue's test, with a part of its workloads.
func kueues(part float64) shape {
	some := func(n int) int { return max(1, int(math.Round(float64(n)*part))) }
	return shape{
		cohorts: 5, queues: 6, nominal: 20, borrow: 100,
		classes: []class{
			{name: "small", count: some(350), every: 100 * time.Millisecond, run: 200 * time.Millisecond, priority: 50, request: 1},
			{name: "medium", count: some(100), every: 500 * time.Millisecond, run: 500 * time.Millisecond, priority: 100, request: 5},
			{name: "large", count: some(50), every: 1200 * time.Millisecond, run: time.Second, priority: 200, request: 20},
		},
	}
}

func (s shape) jobs() int {
	n := 0
	for _, c := range s.classes {
		n += c.count
	}
	return n * s.cohorts * s.queues
}

// capacity of all queues together.
func (s shape) capacity() int64 { return s.cohort() * int64(s.cohorts) }

// cohort is what the queues of one may hold together, and one alone borrowing.
func (s shape) cohort() int64 { return s.nominal * int64(s.queues) }

func (s shape) queue() int64 { return min(s.cohort(), s.nominal+s.borrow) }

// least is the time that no scheduler can beat: the work divided by the quota.
func (s shape) least() time.Duration {
	var work time.Duration
	for _, c := range s.classes {
		work += time.Duration(int64(c.count)*c.request*int64(s.queues)) * c.run
	}
	return work / time.Duration(s.cohort())
}

// resourceName is what the quota is of.
const resourceName = "cpu"

// policy is the data of the bundle. The flavor has no machines: the quota alone
// decides.
func (s shape) policy() string {
	var b strings.Builder
	b.WriteString("holdshort:\n  config:\n    flavors:\n      default: {verify: none}\n    classes:\n")
	for _, c := range s.classes {
		fmt.Fprintf(&b, "      %s: {priority: %d}\n", c.name, c.priority)
	}
	b.WriteString("    cohorts:\n")
	for cohort := range s.cohorts {
		fmt.Fprintf(&b, "      %s: {}\n", place{cohort: cohort}.cohortName())
	}
	b.WriteString("    queues:\n")
	for _, at := range s.places() {
		fmt.Fprintf(&b, `      %s:
        namespaces: {all: true}
        cohort: %s
        flavors: [default]
        quota:
          default: {%s: {nominal: %d, borrowingLimit: %d}}
        preemption: {reclaimWithinCohort: Any, withinQueue: LowerPriority}
`, at.queueName(), at.cohortName(), resourceName, s.nominal, s.borrow)
	}
	return b.String()
}

// place is a queue of a cohort, both by number.
type place struct{ cohort, queue int }

func (p place) cohortName() string { return fmt.Sprintf("cohort-%d", p.cohort) }
func (p place) queueName() string  { return fmt.Sprintf("queue-%d-%d", p.cohort, p.queue) }

func (s shape) places() []place {
	var all []place
	for cohort := range s.cohorts {
		for queue := range s.queues {
			all = append(all, place{cohort, queue})
		}
	}
	return all
}

// item is one Job to be.
type item struct {
	at    place
	class int // of the shape's
	n     int
}

func (s shape) name(i item) string {
	return fmt.Sprintf("%s-%s-%d", i.at.queueName(), s.classes[i.class].name, i.n)
}

// job is one of its Jobs; every other field is as the API server fills it in.
func (s shape) job(i item) *batchv1.Job {
	c := s.classes[i.class]
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name:   s.name(i),
		Labels: map[string]string{"holdshort.dev/queue": i.at.queueName(), "holdshort.dev/priority": c.name},
	}}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: "main", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{resourceName: *resource.NewQuantity(c.request, resource.DecimalSI)},
		}}},
	}
	return job
}
