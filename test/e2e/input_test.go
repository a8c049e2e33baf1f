//go:build plane

package e2e

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

const inputPolicy = `holdshort:
  config:
    flavors:
      any: {}
    queues:
      input:
        namespaces: {names: [input]}
        flavors: [any]
        placementTimeoutSeconds: 3
        backoff: {baseSeconds: 2, maxSeconds: 4}
        quota:
          any: {cpu: 16, memory: 64Gi, nvidia.com/gpu: 8}
`

func TestOddJobsAreCountedAsTheirPodsAreOrHeldWithAReason(t *testing.T) {
	ctx, s := scene(t, "input", inputPolicy)
	cases := []struct {
		name    string
		job     job
		waits   string        // reason code; empty: it runs
		says    string        // in the message
		pods    int           // if it runs
		charged resource.List // per pod, if it runs
	}{
		{name: "parallelism-0", job: job{spec: "  parallelism: 0\n", gpus: 1}, waits: "BadRequest", says: "parallelism"},
		{name: "parallelism-nil", job: job{gpus: 1}, pods: 1, charged: resource.List{"nvidia.com/gpu": 1, "pods": 1}},
		{name: "parallelism-2000000000", job: job{spec: "  parallelism: 2000000000\n", gpus: 1}, waits: "NeverFits", says: "2000000000"},
		{name: "completions-below-parallelism", job: job{spec: "  parallelism: 8\n  completions: 3\n", gpus: 1}, pods: 3},
		{name: "no-requests", job: job{pods: 2}, pods: 2, charged: resource.List{"pods": 1}},
		{name: "limits-only", job: job{pods: 1, resources: "{limits: {cpu: 2, memory: 1Gi}}"}, pods: 1, charged: resource.List{"cpu": 2000, "memory": 1 << 30, "pods": 1}},
		{name: "a-sidecar-and-a-big-init-container", job: job{pods: 1, resources: "{requests: {cpu: 1}}", podSpec: `      initContainers:
      - {name: side, image: side, restartPolicy: Always, resources: {requests: {cpu: 500m}}}
      - {name: big, image: big, resources: {requests: {cpu: 3}}}
`}, pods: 1, charged: resource.List{"cpu": 3500, "pods": 1}},
		{name: "a-fraction-of-a-cpu", job: job{pods: 1, resources: "{requests: {cpu: 0.1, memory: 100.5Mi}}"}, pods: 1, charged: resource.List{"cpu": 100, "memory": 105381888, "pods": 1}},
		{name: "a-huge-quantity", job: job{pods: 1, resources: "{requests: {cpu: 9223372036854775807}}"}, waits: "BadRequest", says: "cpu"},
		{name: "a-huge-sum", job: job{pods: 3, resources: "{requests: {memory: 4Ei}}"}, waits: "BadRequest", says: "memory"},
		{name: "an-unknown-resource", job: job{pods: 1, resources: "{limits: {example.com/fpga: 1}}"}, waits: "UnknownResource", says: "example.com/fpga"},
		{name: "a-missing-runtimeclass", job: job{pods: 1, gpus: 1, podSpec: "      runtimeClassName: kata\n"}, waits: "MissingObject", says: "kata"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.job.name, c.job.queue = c.name, "input"
			_, err := s.Apply(ctx, c.job.yaml())
			must(t, err)
			defer func() {
				_, err := s.Env.Kubectl(ctx, cluster.Alice, "-n", s.NS, "delete", "job", c.name, "--cascade=foreground", "--timeout=30s")
				must(t, err)
			}()
			if c.waits != "" {
				must(t, s.Waits(ctx, c.name, c.waits))
				found, err := s.Job(ctx, c.name)
				must(t, err)
				must(t, stories.Contains(found.Annotations["holdshort.dev/message"], c.says))
				return
			}
			must(t, s.Running(ctx, c.name, c.pods))
			found, err := s.Job(ctx, c.name)
			must(t, err)
			for name, want := range c.charged {
				if got := reservation(t, found).PodSets[0].Requests[name]; got != want {
					t.Errorf("%s is charged %d a pod, want %d", name, got, want)
				}
			}
		})
	}
}

const cohortPolicy = `holdshort:
  config:
    flavors:
      any: {}
    queues:
      input:
        cohort: both
        namespaces: {names: [input]}
        flavors: [any]
        quota:
          any: {nvidia.com/gpu: 4}
      neighbours:
        cohort: both
        namespaces: {names: [input]}
        flavors: [any]
        quota:
          any: {nvidia.com/gpu: {nominal: 4, lendingLimit: 3}}
`

const tellsUsage = `package holdshort.policy

import data.holdshort.lib

hold contains lib.reason("a.example/Told", sprintf("cohort: %v; queue: %v; at least %d pods", [
	input.usage.cohort["nvidia.com/gpu"].any,
	input.usage.queue["nvidia.com/gpu"].any,
	input.workload.podSets[0].minCount,
])) if {
	input.workload.name == "asks"
}
`

func TestAHoldRuleSeesWhatItsCohortHasAndWhatItMayHaveAtMost(t *testing.T) {
	ctx, s := scene(t, "input", cohortPolicy)
	_, err := s.Apply(ctx, job{name: "neighbour", queue: "neighbours", pods: 2, gpus: 1}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "neighbour", 2))
	filesInForce(t, ctx, s.Env, map[string]string{"data.yaml": cohortPolicy, "told.rego": tellsUsage})
	_, err = s.Apply(ctx, job{name: "asks", queue: "input", pods: 2, gpus: 1, annotations: `{holdshort.dev/min-parallelism: "1"}`}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "asks", "HeldByPolicy"))
	found, err := s.Job(ctx, "asks")
	must(t, err)
	must(t, stories.Contains(found.Annotations["holdshort.dev/message"],
		`cohort: {"limit": 8, "nominal": 8, "reserved": 0, "used": 2}`,
		`queue: {"limit": 7, "nominal": 4, "reserved": 0, "used": 0}`, "at least 1 pods"))
}

func TestWhatTheAPIServerItselfRefusesIsRefused(t *testing.T) {
	ctx, s := scene(t, "input", inputPolicy)
	for name, resources := range map[string]string{
		"negative":         "{limits: {nvidia.com/gpu: -1}}",
		"a-fraction-of-it": "{limits: {nvidia.com/gpu: 500m}}",
	} {
		if out, err := s.Apply(ctx, job{name: name, queue: "input", pods: 1, resources: resources}.yaml()); err == nil {
			t.Errorf("%s: accepted: %s", name, out)
		}
	}
}

func TestAnUnknownQueueIsWarnedOfHeldAndPickedUpWhenItAppears(t *testing.T) {
	ctx, s := scene(t, "input", inputPolicy)
	cmd := s.Command(ctx, cluster.Alice, "-n", s.NS, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(job{name: "typo", queue: "inptu", pods: 1, gpus: 1, run: "1s"}.yaml())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	must(t, stories.Contains(string(out), "Warning", "inptu"))
	must(t, s.Waits(ctx, "typo", "UnknownQueue"))
	inForce(t, ctx, s.Env, strings.ReplaceAll(inputPolicy, "      input:\n", "      inptu:\n"))
	must(t, s.Finished(ctx, "typo"))
}

func TestATemplateThatCanMakeNoPodGivesItsRoomBackAndTriesAgainLater(t *testing.T) {
	ctx, s := scene(t, "input", inputPolicy)
	const refuses = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: input-no-pods}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "false", message: no pods}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: input-no-pods}
spec:
  policyName: input-no-pods
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: input}}}
`
	_, err := s.KubectlIn(ctx, cluster.Admin, refuses, "apply", "-f", "-")
	must(t, err)
	must(t, s.Eventually(ctx, "pods are refused", func(ctx context.Context) (bool, string) {
		out, err := s.Env.Kubectl(ctx, cluster.Admin, "-n", s.NS, "run", "probe", "--image=probe", "--dry-run=server")
		return err != nil && strings.Contains(err.Error()+out, "no pods"), fmt.Sprint(err)
	}))
	_, err = s.Apply(ctx, job{name: "podless", queue: "input", pods: 1, gpus: 8, run: "1s"}.yaml())
	must(t, err)
	must(t, s.Waits(ctx, "podless", "BackingOff"))
	found, err := s.Job(ctx, "podless")
	must(t, err)
	if _, err := stories.Reservation(found); err == nil {
		t.Error("it is taken back, but still has its reservation")
	}
	_, err = s.KubectlIn(ctx, cluster.Admin, refuses, "delete", "-f", "-")
	must(t, err)
	must(t, s.Finished(ctx, "podless"))
}

func TestAManagerThatCannotWorkSaysWhy(t *testing.T) {
	ctx, s := scene(t, "input", inputPolicy)
	nowhere := filepath.Join(t.TempDir(), "nowhere.kubeconfig")
	must(t, s.WriteKubeconfig(nowhere, stories.Nowhere(s.Admin)))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"a kubeconfig that is not there", []string{"--kubeconfig", "/does/not/exist"}, []string{"/does/not/exist", "Try:"}},
		{"a kubeconfig that leads nowhere", []string{"--kubeconfig", nowhere}, []string{"Try:"}},
		{"an identity without the chart's rights", []string{"--kubeconfig", s.Kubeconfig(cluster.Alice)}, []string{"ServiceAccount", "Try:"}},
		{"a port that somebody has", []string{"--kubeconfig", s.Kubeconfig(cluster.Admin), "--health-address", taken.Addr().String()}, []string{taken.Addr().String(), "--health-address"}},
		{"a flag that does not exist", []string{"--kubeconfg", "x"}, []string{"kubeconfg"}},
		{"a bad port", []string{"--webhook-port", "99999"}, []string{"webhook-port", "99999", "Try:"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			out, err := exec.CommandContext(ctx, filepath.Join(s.BinDir(), "holdshort"), c.args...).CombinedOutput()
			if err == nil {
				t.Fatalf("it ends well: %s", out)
			}
			must(t, stories.Contains(string(out), c.says...))
		})
	}
}

func TestAMissingCRDIsNamed(t *testing.T) {
	ctx, s := scene(t, "input", inputPolicy)
	s.Manager.Stop()
	_, err := s.Env.Kubectl(ctx, cluster.Admin, "delete", "crd", "policyrollouts.holdshort.dev")
	must(t, err)
	if err = s.Manager.Start(ctx); err == nil {
		t.Error("the manager starts without the CRD of PolicyRollout")
	} else if err := stories.Contains(err.Error(), "PolicyRollout", "Try:"); err != nil {
		t.Error(err)
	}
	_, err = s.Env.Kubectl(ctx, cluster.Admin, "apply", "--server-side", "-f", "../../charts/holdshort/crds")
	must(t, err)
	_, err = s.Env.Kubectl(ctx, cluster.Admin, "wait", "--for=condition=Established", "crd/policyrollouts.holdshort.dev", "--timeout=20s")
	must(t, err)
	must(t, s.Manager.Start(ctx))
}
