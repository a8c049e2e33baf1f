//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const guardPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      guard:
        namespaces: {names: [guard, guard-2, guard-3]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
      other:
        namespaces: {names: [guard, guard-2, guard-3]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
`

func guardLimits() []history.Limit {
	return []history.Limit{
		{Queue: "guard", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 4},
		{Queue: "other", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 4},
	}
}

// attempt is something a user tries on a Job.
type attempt struct {
	name string
	args []string // of kubectl
	says string   // part of the refusal
}

func mergePatch(job, patch string) []string {
	return []string{"patch", "job", job, "--type=merge", "-p", patch}
}

// waysRound are what may not be done to the waiting Job "waits" and the admitted
// Job "runs".
func waysRound() []attempt {
	return []attempt{
		{"lifting the suspension by hand", mergePatch("waits", `{"spec":{"suspend":false}}`), "suspen"},
		{"removing the label while admitted", []string{"label", "job", "runs", "holdshort.dev/queue-"}, "queue"},
		{"changing the label while admitted", []string{"label", "--overwrite", "job", "runs", "holdshort.dev/queue=other"}, "queue"},
		{"growing a running Job", mergePatch("runs", `{"spec":{"parallelism":5}}`), "parallelism"},
		{"writing a reservation on a waiting Job", []string{"annotate", "job", "waits", "holdshort.dev/reservation={}"}, "holdshort.dev/"},
		{"changing the reservation of a running Job", []string{"annotate", "--overwrite", "job", "runs", "holdshort.dev/reservation={}"}, "holdshort.dev/"},
		{"removing the reservation of a running Job", []string{"annotate", "job", "runs", "holdshort.dev/reservation-"}, "holdshort.dev/"},
		{"changing the arrival", []string{"annotate", "--overwrite", "job", "waits", "holdshort.dev/arrival=1"}, "holdshort.dev/"},
		{"hiding a running Job behind a JobSet that is not there", mergePatch("runs", `{"metadata":{"ownerReferences":[`+absentJobSet+`]}}`), "leaves it only while it is suspended"},
		{"hiding a waiting Job behind one, and lifting its suspension", mergePatch("waits", `{"metadata":{"ownerReferences":[`+absentJobSet+`]},"spec":{"suspend":false}}`), "suspen"},
		{"changing the state", []string{"label", "--overwrite", "job", "waits", "holdshort.dev/state=admitted"}, "holdshort.dev/"},
	}
}

func TestS7NoWayRound(t *testing.T) {
	ctx, s := scene(t, "guard", guardPolicy, guardLimits()...)
	_, err := s.Apply(ctx, job{name: "runs", queue: "guard", pods: 4, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "runs", 4))
	_, err = s.Apply(ctx, job{name: "waits", queue: "guard", pods: 1, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "waits", "WaitingForQuota"))

	refusals := func(t *testing.T) {
		for _, a := range waysRound() {
			t.Run(a.name, func(t *testing.T) {
				for _, who := range []cluster.User{cluster.Alice, cluster.Admin, cluster.Bypass} {
					before := standing(t, ctx, s, "runs", "waits")
					out, err := s.Env.Kubectl(ctx, who, append([]string{"-n", s.NS}, a.args...)...)
					if err != nil && !strings.Contains(err.Error(), a.says) {
						t.Errorf("%s is refused, but not with a sentence about %q: %v", who, a.says, err)
					}
					if diff := cmp.Diff(before, standing(t, ctx, s, "runs", "waits")); diff != "" {
						t.Errorf("%s is told %q %v, and it has an effect (-before +after):\n%s", who, out, err, diff)
					}
				}
			})
		}
	}
	t.Run("with the manager", refusals)
	s.Manager.Stop()
	t.Run("with the manager stopped", refusals)
	must(t, s.Manager.Start(ctx))
	must(t, s.Running(ctx, "runs", 4))
	must(t, s.NoPods(ctx, "waits"))
}

// standing is what the queue has decided about Jobs, and what they run by it.
func standing(t *testing.T, ctx context.Context, s *stories.Scene, names ...string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, name := range names {
		found, err := s.Job(ctx, name)
		must(t, err)
		for _, key := range []string{"reservation", "arrival", "user", "injected"} {
			all[name+" "+key] = found.Annotations["holdshort.dev/"+key]
		}
		all[name+" labels"], all[name+" owners"] = found.Labels, found.OwnerReferences
		all[name+" suspend"], all[name+" parallelism"] = *found.Spec.Suspend, *found.Spec.Parallelism
	}
	return all
}

func TestS7ForgeriesAtCreationAreWithoutEffect(t *testing.T) {
	forged := job{
		name: "forged", queue: "guard", pods: 1, gpus: 1,
		annotations: `{holdshort.dev/reservation: '{"uid":"x"}', holdshort.dev/arrival: "1", holdshort.dev/user: root, holdshort.dev/bypass: "mine"}`,
		spec:        "  suspend: false\n",
	}.yaml()
	forged = strings.Replace(forged, "    test: e2e\n", "    test: e2e\n    holdshort.dev/state: admitted\n", 1)
	ctx, s := scene(t, "guard", guardPolicy, guardLimits()...)
	_, err := s.Apply(ctx, job{name: "runs", queue: "guard", pods: 4, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "runs", 4))

	check := func(t *testing.T) {
		_, err := s.Apply(ctx, forged)
		must(t, err)
		must(t, s.NoPods(ctx, "forged"))
		found, err := s.Job(ctx, "forged")
		must(t, err)
		a := found.Annotations
		if a["holdshort.dev/reservation"] != "" || a["holdshort.dev/bypass"] != "" || a["holdshort.dev/arrival"] == "1" ||
			a["holdshort.dev/user"] != "alice" || found.Labels["holdshort.dev/state"] != "queued" {
			t.Errorf("a forgery came through: annotations %v, labels %v", a, found.Labels)
		}
		_, err = s.Kubectl(ctx, "delete", "job", "forged")
		must(t, err)
	}
	t.Run("with the manager", check)
	s.Manager.Stop()
	t.Run("with the manager stopped", check)
	must(t, s.Manager.Start(ctx))
}

func TestS7DeletingAndAskingAgainDoesNotFreeWhatStillRuns(t *testing.T) {
	for _, cascade := range []string{"orphan", "background"} {
		t.Run("cascade="+cascade, func(t *testing.T) {
			ctx, s := scene(t, "guard-2", guardPolicy, guardLimits()...)
			runs := job{name: "runs", queue: "guard", pods: 4, gpus: 1}.yaml()
			if cascade == "background" { // pods that take their time to end
				runs = strings.Replace(runs, "plane.holdshort.dev/stop: 50ms", "plane.holdshort.dev/stop: 4s", 1)
			}
			_, err := s.Apply(ctx, runs)
			must(t, err)
			must(t, s.Running(ctx, "runs", 4))
			_, err = s.Kubectl(ctx, "delete", "job", "runs", "--cascade="+cascade)
			must(t, err)
			_, err = s.Apply(ctx, strings.Replace(runs, "24h", "1s", 1)) // the same name again
			must(t, err)
			if cascade == "orphan" { // the new Job would adopt pods that its selector matched
				must(t, s.Says(ctx, "runs", "WaitingForQuota"))
				_, err = s.Kubectl(ctx, "delete", "pods", "--all", "--wait=false")
				must(t, err)
			}
			must(t, s.Finished(ctx, "runs"))
		})
	}
}

func TestS7AHolderOfBypassMaySayingWhy(t *testing.T) {
	ctx, s := scene(t, "guard", guardPolicy)
	_, err := s.Apply(ctx, job{name: "runs", queue: "guard", pods: 4, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "runs", 4))
	_, err = s.Apply(ctx, job{name: "waits", queue: "guard", pods: 1, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "waits", "WaitingForQuota"))

	lift := `{"metadata":{"annotations":{"holdshort.dev/bypass":"incident 42"}},"spec":{"suspend":false}}`
	if out, err := s.Env.Kubectl(ctx, cluster.Alice, append([]string{"-n", s.NS}, mergePatch("waits", lift)...)...); err == nil {
		t.Errorf("alice may without the verb: %s", out)
	}
	_, err = s.Env.Kubectl(ctx, cluster.Bypass, append([]string{"-n", s.NS}, mergePatch("waits", lift)...)...)
	must(t, err)
	must(t, s.Running(ctx, "waits", 1))

	// It is charged, and never suspended.
	_, err = s.Apply(ctx, job{name: "later", queue: "guard", pods: 1, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "later", "WaitingForQuota"))
	why, err := s.Explain(ctx, "later")
	must(t, err)
	must(t, stories.Contains(why, "5 of 4"))
	must(t, s.Running(ctx, "waits", 1))
}

func TestS7DeletionNeverHangs(t *testing.T) {
	for _, manager := range []bool{true, false} {
		t.Run(fmt.Sprintf("manager=%v", manager), func(t *testing.T) {
			ctx, s := scene(t, "guard-3", guardPolicy)
			for _, name := range []string{"foreground", "orphan", "stays"} {
				_, err := s.Apply(ctx, job{name: name, queue: "guard", pods: 1, gpus: 1}.yaml()+job{name: name + "-waits", queue: "guard", pods: 4, gpus: 1}.yaml())
				must(t, err)
				must(t, s.Running(ctx, name, 1))
			}
			if !manager {
				s.Manager.Stop()
				defer func() { must(t, s.Manager.Start(ctx)) }()
			}
			for _, cascade := range []string{"foreground", "orphan"} {
				_, err := s.Kubectl(ctx, "delete", "job", cascade, cascade+"-waits", "--cascade="+cascade, "--wait=true", "--timeout=20s")
				must(t, err)
			}
			_, err := s.Env.Kubectl(ctx, cluster.Admin, "delete", "namespace", s.NS, "--wait=true", "--timeout=40s")
			must(t, err)
		})
	}
}

func TestS7WithTheManagerStoppedOthersDoNotNoticeAndLabelledJobsWait(t *testing.T) {
	ctx, s := scene(t, "guard", guardPolicy, guardLimits()...)
	s.Manager.Stop()
	started := false
	defer func() {
		if !started {
			must(t, s.Manager.Start(ctx))
		}
	}()
	_, err := s.Apply(ctx, job{name: "unlabelled", pods: 1, gpus: 1}.yaml()+notebookPod)
	must(t, err)
	must(t, s.Running(ctx, "unlabelled", 1))
	must(t, s.PodRuns(ctx, "plain"))
	_, err = s.Apply(ctx, job{name: "labelled", queue: "guard", pods: 2, gpus: 1, run: "1s"}.yaml())
	must(t, err)
	must(t, s.NoPods(ctx, "labelled"))
	started = true
	must(t, s.Manager.Start(ctx))
	must(t, s.Finished(ctx, "labelled"))
	found, err := s.Client.BatchV1().Jobs(s.NS).Get(ctx, "unlabelled", metav1.GetOptions{})
	must(t, err)
	for key := range found.Annotations {
		if strings.HasPrefix(key, "holdshort.dev/") {
			t.Errorf("the unlabelled Job was touched: %v", found.Annotations)
		}
	}
}

const notebookPod = `apiVersion: v1
kind: Pod
metadata: {name: plain, annotations: {plane.holdshort.dev/stop: 50ms}}
spec:
  containers: [{name: main, image: main}]
---
`
