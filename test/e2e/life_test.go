//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const lifePolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    classes:
      urgent: {priority: 1000}
    queues:
      life:
        namespaces: {names: [life]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
      other: {namespaces: {names: [life]}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 4}}}
`

func lifeScene(t *testing.T) (context.Context, *stories.Scene) {
	return scene(t, "life", lifePolicy,
		history.Limit{Queue: "life", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 4},
		history.Limit{Queue: "other", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 4})
}

func kubectl(t *testing.T, ctx context.Context, s *stories.Scene, args ...string) {
	t.Helper()
	_, err := s.Kubectl(ctx, args...)
	must(t, err)
}

func apply(t *testing.T, ctx context.Context, s *stories.Scene, jobs ...job) {
	t.Helper()
	for _, j := range jobs {
		_, err := s.Apply(ctx, j.yaml())
		must(t, err)
	}
}

func suspended(t *testing.T, ctx context.Context, s *stories.Scene, name string) bool {
	t.Helper()
	j, err := s.Job(ctx, name)
	must(t, err)
	return *j.Spec.Suspend
}

// TestAJobThatIsEditedWhileItWaitsKeepsItsArrival, and with it its place among its
// like: a new priority or queue counts at once, a new template for what it asks.
func TestAJobThatIsEditedWhileItWaitsKeepsItsArrival(t *testing.T) {
	ctx, s := lifeScene(t)
	apply(t, ctx, s, job{name: "runs", queue: "life", pods: 4, gpus: 1})
	must(t, s.Running(ctx, "runs", 4))
	arrivals := map[string]int64{}
	for _, name := range []string{"smaller", "moves", "second", "urgent"} {
		apply(t, ctx, s, job{name: name, queue: "life", pods: 4, gpus: 1})
		must(t, s.Waits(ctx, name, "WaitingForQuota"))
		j, err := s.Job(ctx, name)
		must(t, err)
		arrivals[name] = arrival(t, j)
	}
	// Of a template Kubernetes lets change where the pods may run and what they ask for.
	kubectl(t, ctx, s, "patch", "job", "smaller", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/template/spec/containers/0/resources","value":{"limits":{"nvidia.com/gpu":"2"},"requests":{"nvidia.com/gpu":"2"}}},`+
			`{"op":"replace","path":"/spec/parallelism","value":2}]`)
	kubectl(t, ctx, s, "label", "--overwrite", "job", "urgent", "holdshort.dev/priority=urgent")
	kubectl(t, ctx, s, "label", "--overwrite", "job", "moves", "holdshort.dev/queue=other")
	must(t, s.Running(ctx, "moves", 4))

	kubectl(t, ctx, s, "delete", "job", "runs", "--cascade=foreground")
	must(t, s.Running(ctx, "urgent", 4))
	kubectl(t, ctx, s, "delete", "job", "urgent", "--cascade=foreground")
	must(t, s.Running(ctx, "smaller", 2))
	if !suspended(t, ctx, s, "second") {
		t.Error("the Job that was edited lost its place to the one behind it")
	}
	for _, name := range []string{"smaller", "moves", "second"} {
		j, err := s.Job(ctx, name)
		must(t, err)
		if got := arrival(t, j); got != arrivals[name] {
			t.Errorf("%s arrived at %d, and after its edit at %d", name, arrivals[name], got)
		}
	}
	j, err := s.Job(ctx, "smaller")
	must(t, err)
	if set := reservation(t, j).PodSets[0]; set.Count != 2 || set.Requests["nvidia.com/gpu"] != 2 {
		t.Errorf("it was given %d pods with %v", set.Count, set.Requests)
	}
}

// TestARunningJobShrinksAndFreesWhatItsPodsGiveBack, when they are gone, not before;
// it never grows. So does one that has no more pods to make.
func TestARunningJobShrinksAndFreesWhatItsPodsGiveBack(t *testing.T) {
	ctx, s := lifeScene(t)
	apply(t, ctx, s, job{name: "big", queue: "life", pods: 4, gpus: 1, stop: "3s"})
	must(t, s.Running(ctx, "big", 4))
	apply(t, ctx, s, job{name: "next", queue: "life", pods: 2, gpus: 1, run: "8s", spec: "  backoffLimit: 0\n"})
	must(t, s.Waits(ctx, "next", "WaitingForQuota"))
	out, err := s.Kubectl(ctx, "patch", "job", "big", "--type=merge", "-p", `{"spec":{"parallelism":5}}`)
	if err == nil || !strings.Contains(out+err.Error(), "set the annotation holdshort.dev/hold, wait until it is suspended, raise it") {
		t.Errorf("to grow is answered with %q, %v", out, err)
	}
	began := time.Now()
	kubectl(t, ctx, s, "patch", "job", "big", "--type=merge", "-p", `{"spec":{"parallelism":2}}`)
	must(t, s.Running(ctx, "next", 2))
	if took := time.Since(began); took < 2*time.Second { // of 3; pods are deleted at whole seconds
		t.Errorf("it started after %v, before the pods were gone", took)
	}
	must(t, s.Running(ctx, "big", 2))
	kubectl(t, ctx, s, "delete", "job", "next", "--cascade=foreground")

	// Three completions, two at a time: in the second round one pod is enough.
	apply(t, ctx, s, job{name: "waves", queue: "life", gpus: 1, run: "6s", spec: "  parallelism: 2\n  completions: 3\n"})
	must(t, s.Running(ctx, "waves", 2))
	apply(t, ctx, s, job{name: "beside", queue: "life", pods: 1, gpus: 1})
	must(t, s.Waits(ctx, "beside", "WaitingForQuota"))
	must(t, s.Running(ctx, "beside", 1))
	j, err := s.Job(ctx, "waves")
	must(t, err)
	if complete(j) {
		t.Error("what its ended pods held was free only when the whole Job had ended")
	}
}

// over waits until a Job has one of the two conditions of a Job that is about to end,
// and pods left.
func over(t *testing.T, ctx context.Context, s *stories.Scene, name string, target, end batchv1.JobConditionType) {
	t.Helper()
	must(t, s.Eventually(ctx, fmt.Sprintf("%s has the condition %s and pods", name, target), func(ctx context.Context) (bool, string) {
		j, err := s.Job(ctx, name)
		if err != nil {
			return false, err.Error()
		}
		has := map[batchv1.JobConditionType]bool{}
		for _, c := range j.Status.Conditions {
			has[c.Type] = c.Status == corev1.ConditionTrue
		}
		pods, err := s.Pods(ctx, name)
		return err == nil && has[target] && !has[end] && len(pods) > 0, fmt.Sprint(has, len(pods), err)
	}))
}

func TestAJobThatIsAboutToEndHoldsItsQuotaUntilItsPodsAreGone(t *testing.T) {
	ctx, s := lifeScene(t)
	firstPod := func(name string, of func(corev1.Pod) bool) string {
		pods, err := s.Pods(ctx, name)
		must(t, err)
		for _, p := range pods {
			if of(p) {
				return p.Name
			}
		}
		t.Fatalf("%s has no such pod", name)
		return ""
	}
	whichever := func(corev1.Pod) bool { return true }
	apply(t, ctx, s, job{name: "fails", queue: "life", pods: 4, gpus: 1, stop: "4s", spec: "  backoffLimit: 0\n"})
	must(t, s.Running(ctx, "fails", 4))
	apply(t, ctx, s, job{name: "after-failure", queue: "life", pods: 4, gpus: 1})
	must(t, s.Waits(ctx, "after-failure", "WaitingForQuota"))
	kubectl(t, ctx, s, "delete", "pod", firstPod("fails", whichever), "--wait=false")
	over(t, ctx, s, "fails", batchv1.JobFailureTarget, batchv1.JobFailed)
	must(t, s.NoPods(ctx, "after-failure"))
	must(t, s.Running(ctx, "after-failure", 4))
	kubectl(t, ctx, s, "delete", "job", "after-failure", "--cascade=foreground")

	apply(t, ctx, s, job{name: "succeeds", queue: "life", pods: 2, gpus: 2, run: "24s", stop: "4s",
		spec: "  completionMode: Indexed\n  successPolicy: {rules: [{succeededCount: 1}]}\n"})
	must(t, s.Running(ctx, "succeeds", 2))
	apply(t, ctx, s, job{name: "after-success", queue: "life", pods: 2, gpus: 2})
	must(t, s.Waits(ctx, "after-success", "WaitingForQuota"))
	out, err := s.Kubectl(ctx, "patch", "job", "succeeds", "--type=merge", "-p", `{"spec":{"parallelism":3,"completions":3}}`)
	answer("a running Job does not grow to 3").check(t, out, err)
	// Its second index begins anew, 10 s after it failed, so that the first one ends
	// before.
	kubectl(t, ctx, s, "delete", "pod", firstPod("succeeds", func(p corev1.Pod) bool {
		return p.Labels[batchv1.JobCompletionIndexAnnotation] == "1"
	}), "--wait=false")
	over(t, ctx, s, "succeeds", batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
	must(t, s.NoPods(ctx, "after-success"))
	must(t, s.Running(ctx, "after-success", 2))
}

// TestTheJobsOfACronJobQueue: its label is in the jobTemplate. And a Job that somebody
// else's controller runs is nobody's here.
func TestTheJobsOfACronJobQueue(t *testing.T) {
	ctx, s := lifeScene(t)
	_, err := s.Apply(ctx, `apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "* * * * *"
  concurrencyPolicy: Forbid
  jobTemplate:
    metadata: {labels: {holdshort.dev/queue: life, from: nightly}}
    spec:
      template:
        metadata: {annotations: {plane.holdshort.dev/run: 24h, plane.holdshort.dev/stop: 50ms}}
        spec:
          restartPolicy: Never
          containers: [{name: main, image: main, resources: {limits: {nvidia.com/gpu: 1}}}]
`)
	must(t, err)
	t.Cleanup(func() {
		if _, err := s.Kubectl(context.WithoutCancel(ctx), "delete", "cronjob", "--all"); err != nil {
			t.Error(err)
		}
	})
	apply(t, ctx, s,
		job{name: "elsewhere", queue: "life", pods: 4, gpus: 1, spec: "  managedBy: example.com/dispatcher\n"},
		job{name: "fills", queue: "life", pods: 4, gpus: 1, spec: "  managedBy: kubernetes.io/job-controller\n"})
	must(t, s.Running(ctx, "fills", 4))
	if suspended(t, ctx, s, "elsewhere") {
		t.Error("a Job that another controller runs was suspended")
	}
	// Its controller thinks that it has missed one, and does not wait for the minute.
	missed := fmt.Sprintf(`{"status":{"lastScheduleTime":%q}}`, time.Now().Add(-90*time.Second).UTC().Format(time.RFC3339))
	_, err = s.KubectlIn(ctx, cluster.Admin, "", "-n", s.NS, "patch", "cronjob", "nightly", "--subresource=status", "--type=merge", "-p", missed)
	must(t, err)
	name := ""
	must(t, stories.Eventually(ctx, 80*time.Second, "the CronJob made a Job", func(ctx context.Context) (bool, string) {
		jobs, err := jobsOf(ctx, s)
		for _, j := range jobs {
			if j.Labels["from"] == "nightly" {
				name = j.Name
			}
		}
		return name != "", fmt.Sprint(len(jobs), err)
	}))
	must(t, s.Waits(ctx, name, "WaitingForQuota"))
	kubectl(t, ctx, s, "delete", "job", "fills", "--cascade=foreground")
	must(t, s.Running(ctx, name, 1))
	j, err := s.Job(ctx, "elsewhere")
	must(t, err)
	if j.Labels["holdshort.dev/state"] != "" || len(j.Annotations) > 1 {
		t.Errorf("a Job that another controller runs carries %v, %v", j.Labels, j.Annotations)
	}
}
