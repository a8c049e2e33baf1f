//go:build plane

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const firstPodPolicy = `holdshort:
  config:
    flavors:
      gpu: {nodeLabels: {pool: firstpod}}
    queues:
      firstpod:
        namespaces: {names: [firstpod]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 24}
`

// raisesGPUs has every pod of train ask for 5 GPUs, and lets only the first one be made.
const raisesGPUs = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: firstpod-raises}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: firstpod}}
    objectSelector: {matchLabels: {batch.kubernetes.io/job-name: train}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "replace", path: "/spec/containers/0/resources/requests/nvidia.com~1gpu", value: "5"},
        JSONPatch{op: "replace", path: "/spec/containers/0/resources/limits/nvidia.com~1gpu", value: "5"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: firstpod-raises}
spec: {policyName: firstpod-raises}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: firstpod-alone}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: firstpod}}
    objectSelector: {matchLabels: {batch.kubernetes.io/job-name: train}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  validations: [{expression: 'object.metadata.labels["batch.kubernetes.io/job-completion-index"] == "0"'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: firstpod-alone}
spec: {policyName: firstpod-alone, validationActions: [Deny]}
`

// Booked are four pods of 4 GPUs, and an admission policy has the first ask for 5: the
// three to come count by that before they are there, and another Job waits that would
// have quota by what was booked. It is told once, also by a manager that begins anew.
func TestPodsToComeAreCountedByWhatTheFirstAsksFor(t *testing.T) {
	ctx, s := sceneBy(t, "firstpod", firstPodPolicy, history.Rules{})
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "firstpod-1", GPUs: 30, Labels: map[string]string{"pool": "firstpod"}}})
	admissionPolicies(t, ctx, s)
	uses := func(amounts string) {
		t.Helper()
		must(t, s.Eventually(ctx, "the queue uses "+amounts, func(ctx context.Context) (bool, string) {
			out, err := s.Env.Kubectl(ctx, cluster.Admin, "get", "queues.holdshort.dev", "firstpod", "--no-headers")
			return err == nil && strings.Contains(out, amounts), out
		}))
	}
	toldOnce := func() {
		t.Helper()
		must(t, s.Eventually(ctx, "it is told once", func(ctx context.Context) (bool, string) {
			out, err := s.Env.Kubectl(ctx, cluster.Admin, "-n", s.NS, "get", "events", "--field-selector", "reason=RequestsDiffer",
				"-o", `jsonpath={range .items[*]}{.involvedObject.name}: {.message}{"\n"}{end}`)
			return err == nil && strings.Count(out, "\n") == 1 &&
				strings.HasPrefix(out, "train: a pod asks for 5 nvidia.com/gpu, 4 were booked; its pods are counted by that. Try: "), out
		}))
	}
	_, err := s.Apply(ctx, job{name: "train", queue: "firstpod", pods: 4, gpus: 4, spec: "  completionMode: Indexed\n"}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "train", 1))
	uses("20/24 nvidia.com/gpu")
	toldOnce()
	_, err = s.Apply(ctx, job{name: "next", queue: "firstpod", pods: 1, gpus: 6}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "next", "WaitingForQuota"))

	s.Manager.Kill()
	must(t, s.Manager.Start(context.WithoutCancel(ctx)))
	must(t, s.Waits(ctx, "next", "WaitingForQuota"))
	uses("20/24 nvidia.com/gpu")
	toldOnce()
	found, err := s.Job(ctx, "train")
	must(t, err)
	if *found.Spec.Suspend {
		t.Error("it was taken back")
	}
	_, err = s.Kubectl(ctx, "delete", "job", "train")
	must(t, err)
	must(t, s.Running(ctx, "next", 1))
	uses("6/24 nvidia.com/gpu")
}

// admissionPolicies makes them, and waits until they are in force.
func admissionPolicies(t *testing.T, ctx context.Context, s *stories.Scene) {
	t.Helper()
	_, err := s.KubectlIn(ctx, cluster.Admin, raisesGPUs, "apply", "-f", "-")
	must(t, err)
	t.Cleanup(func() {
		_, err := s.KubectlIn(context.Background(), cluster.Admin, raisesGPUs, "delete", "-f", "-")
		must(t, err)
	})
	probe := func(index string) (string, error) {
		return s.KubectlIn(ctx, cluster.Admin, "{apiVersion: v1, kind: Pod, metadata: {name: probe, namespace: firstpod, "+
			"labels: {batch.kubernetes.io/job-name: train, batch.kubernetes.io/job-completion-index: '"+index+"'}}, "+
			"spec: {containers: [{name: c, image: c, resources: {limits: {nvidia.com/gpu: 4}}}]}}",
			"create", "--dry-run=server", "-f", "-", "-o", "jsonpath={.spec.containers[0].resources.requests}")
	}
	must(t, s.Eventually(ctx, "pods are changed, and only the first is let in", func(context.Context) (bool, string) {
		first, err := probe("0")
		second, refused := probe("1")
		return err == nil && strings.Contains(first, `"nvidia.com/gpu":"5"`) && refused != nil, first + second
	}))
}
