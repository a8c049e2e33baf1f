//go:build plane

package placement_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// catalog has a queue for each Job, so that none waits for another, and quotas
// that keep nobody.
func (g *game) catalog() *policies.Catalog {
	const plenty = 1 << 30
	c := &policies.Catalog{Flavors: map[string]policies.Flavor{"any": {}}, Queues: map[string]policies.Queue{}}
	quota := map[string]policies.Limit{kubelet.ResourceGPU: {Nominal: plenty}}
	if g.Devices != nil {
		for _, class := range g.Devices.Classes {
			quota[intake.ChargedAs(class)] = policies.Limit{Nominal: plenty}
		}
		quota["example.com/"+g.ns+"-card"] = policies.Limit{Nominal: plenty}
	}
	for _, job := range g.Jobs {
		c.Queues[job.Name] = policies.Queue{
			Namespaces: policies.NamespaceRule{All: true}, Flavors: []string{"any"},
			Quota: map[string]map[string]policies.Limit{"any": quota},
		}
	}
	return c
}

// plan reads the cluster as it is now and says who may go.
func (g *game) plan(ctx context.Context) (decide.Result, error) {
	b := book.New()
	now := time.Now().UnixNano()
	b.Tick(now)
	r, err := g.reader(ctx)
	if err != nil {
		return decide.Result{}, err
	}
	nodes, err := g.nodes(ctx)
	if err != nil {
		return decide.Result{}, err
	}
	for i := range nodes {
		b.SetNode(intake.Node(&nodes[i]))
		r.state.SetNode(nodes[i].Name, nodes[i].Labels)
	}
	pods, err := g.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return decide.Result{}, err
	}
	jobs, err := g.client.BatchV1().Jobs(g.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return decide.Result{}, err
	}
	var verdicts map[string]decide.Outcome
	for range 2 { // what is the matter with rows is known once they were counted
		for i := range pods.Items {
			if read := intake.Pod(&pods.Items[i], nil); read != nil {
				r.pod(read, &pods.Items[i])
				b.SetPod(read)
			}
		}
		if verdicts, err = g.readJobs(b, g.env(r, pods.Items), jobs.Items); err != nil {
			return decide.Result{}, err
		}
		r.tell(b)
	}
	snapshot := b.Snapshot()
	g.rivals = 0
	for _, r := range snapshot.Rivals() {
		if snapshot.Room().Slots(r.Shape) > 0 {
			g.rivals++
		}
	}
	return decide.Plan(decide.Input{
		Snapshot: snapshot, Catalog: g.catalog(), Revision: "r", Verdicts: verdicts, Since: now, Now: now,
	}), nil
}

// readJobs reads the Jobs. Only claims, of devices and of volumes, may be such as can't be
// counted.
func (g *game) readJobs(b *book.Book, env intake.Env, jobs []batchv1.Job) (map[string]decide.Outcome, error) {
	verdicts := map[string]decide.Outcome{}
	for i := range jobs {
		read, pod := intake.Job(&jobs[i], env), &jobs[i].Spec.Template.Spec
		if read.Problem != nil && len(pod.ResourceClaims)+len(pod.Volumes) == 0 {
			return nil, fmt.Errorf("job %s: %s", read.Name, read.Problem.Message)
		}
		b.SetJob(read)
		verdicts[read.UID] = decide.Outcome{Verdict: policies.Verdict{Queue: read.Queue}}
	}
	return verdicts, nil
}

// admit writes what the plan says of the Jobs that may go.
func (g *game) admit(ctx context.Context, plan decide.Result) ([]string, error) {
	var names []string
	for _, a := range plan.Admit {
		if g.excluded(g.job(a.Job.Name), names) {
			continue
		}
		// The Job controller may just have noted that it is suspended.
		if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return g.write(ctx, a) }); err != nil {
			return nil, fmt.Errorf("admitting %s: %w", a.Job.Name, err)
		}
		names = append(names, a.Job.Name)
	}
	return names, nil
}

func (g *game) write(ctx context.Context, a effect.Admit) error {
	job, err := g.client.BatchV1().Jobs(g.ns).Get(ctx, a.Job.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch, err := apply.AdmitPatch(job, a)
	if err != nil {
		return err
	}
	_, err = g.client.BatchV1().Jobs(g.ns).Patch(ctx, job.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// landed waits until the scheduler has spoken of all pods of a Job: missing says
// what it said of one that it found no node for, or its node of one that it would
// not take; empty if all are well.
func (g *game) landed(ctx context.Context, job string) (pods []corev1.Pod, missing string, err error) {
	want := *g.job(job).Spec.Parallelism
	err = until(ctx, "all pods of "+job+" are bound", func() (bool, error) {
		if pods, err = g.pods(ctx, job); err != nil || len(pods) < int(want) {
			return false, err
		}
		started := true
		for i := range pods {
			pod := &pods[i]
			switch {
			case unschedulable(pod) && strings.Contains(said(pod), history.BeingAllocated):
				return false, nil // it is looked at again when that is done
			case unschedulable(pod):
				missing = fmt.Sprintf("%s is unschedulable: %s", pod.Name, said(pod))
				return true, nil
			case pod.Status.Phase == corev1.PodFailed:
				missing = fmt.Sprintf("%s was refused by %s: %s", pod.Name, pod.Spec.NodeName, pod.Status.Message)
				return true, nil
			}
			started = started && pod.Status.Phase == corev1.PodRunning
		}
		return started, nil
	})
	return pods, missing, err
}

func said(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Message
		}
	}
	return ""
}
