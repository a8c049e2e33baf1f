package stories

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdshort/holdshort/test/plane/cluster"
)

// Policy of the stories that the demo tells: research may use 4 GPUs, lab 4 cpu
// and 8Gi, vision all 8 cards of the big machine, split those of the small ones.
const Policy = `holdshort:
  config:
    flavors:
      gpu: {}
      cpu: {}
      h100: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}}
      a10: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A10}}
    queues:
      research:
        namespaces: {names: [research, research-again]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
      lab:
        namespaces: {names: [lab]}
        flavors: [cpu]
        quota:
          cpu: {cpu: 4, memory: 8Gi}
      vision:
        namespaces: {names: [vision]}
        flavors: [h100]
        quota:
          h100: {nvidia.com/gpu: 8}
      split:
        namespaces: {names: [vision]}
        flavors: [a10]
        quota:
          a10: {nvidia.com/gpu: 8}
`

// Nodes of those stories: three, one with 8 GPUs.
func Nodes() []cluster.NodeSpec {
	return []cluster.NodeSpec{{Name: "node-1", GPUs: 8}, {Name: "node-2"}, {Name: "node-3"}}
}

// Training is how the Jobs of S1 are written.
type Training struct {
	Suspended bool // they say so themselves
	Claims    bool // the GPU is asked for by a claim, of the class gpu.nvidia.com
}

// oneCard is what pods of a training ask for devices by.
const oneCard = `apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: one-card
spec:
  spec:
    devices:
      requests:
      - name: card
        exactly: {deviceClassName: gpu.nvidia.com}
`

// training is a Job of 4 pods with one GPU each.
func (as Training) training(name, run string) string {
	extra, asks, claims := "", "limits: {nvidia.com/gpu: 1}", ""
	if as.Suspended {
		extra = "  suspend: true\n"
	}
	if as.Claims {
		asks = "claims: [{name: card}]"
		claims = "      resourceClaims: [{name: card, resourceClaimTemplateName: one-card}]\n"
	}
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  name: %s
  labels:
    holdshort.dev/queue: research
spec:
  parallelism: 4
  completions: 4
%s  template:
    metadata:
      annotations: {plane.holdshort.dev/run: %s, plane.holdshort.dev/stop: 100ms}
    spec:
      restartPolicy: Never
%s      containers:
      - name: train
        image: train
        resources:
          %s
`, name, extra, run, claims, asks)
}

// OneQuota is S1: one quota, two trainings.
func OneQuota(ctx context.Context, s *Scene, as Training) error {
	s.Say("Three nodes, one of them with 8 GPUs. The queue research may use 4 of them.")
	s.Say("Alice applies two trainings in one file, 4 pods with one GPU each.")
	manifests := documents(as.training("train-a", "8s"), as.training("train-b", "2s"))
	if as.Claims {
		manifests = documents(oneCard, manifests)
	}
	if _, err := s.Apply(ctx, manifests); err != nil {
		return err
	}
	s.Say("The first one in the file runs:")
	if err := s.Running(ctx, "train-a", 4); err != nil {
		return err
	}
	if _, err := s.Kubectl(ctx, "get", "pods"); err != nil {
		return err
	}
	s.Say("The second one waits. It has no pod at all, not even a Pending one, though 4 GPUs are idle:")
	if err := s.Waits(ctx, "train-b", "WaitingForQuota"); err != nil {
		return err
	}
	if _, err := s.Kubectl(ctx, "get", "pods", "-l", "batch.kubernetes.io/job-name=train-b"); err != nil {
		return err
	}
	if err := oneQuotaTold(ctx, s); err != nil {
		return err
	}
	s.Say("When the first has finished and its pods are gone, the second starts by itself:")
	if err := s.Finished(ctx, "train-a"); err != nil {
		return err
	}
	if err := s.Running(ctx, "train-b", 4); err != nil {
		return err
	}
	if _, err := s.Kubectl(ctx, "get", "jobs", "-L", "holdshort.dev/queue,holdshort.dev/state"); err != nil {
		return err
	}
	return s.Finished(ctx, "train-b")
}

// oneQuotaTold checks that three ways of asking tell why, with numbers.
func oneQuotaTold(ctx context.Context, s *Scene) error {
	jobs, err := s.Kubectl(ctx, "get", "jobs", "-L", "holdshort.dev/queue,holdshort.dev/state")
	if err != nil {
		return err
	}
	if err := Contains(jobs, "admitted", "queued"); err != nil {
		return err
	}
	err = s.Eventually(ctx, "the queue shows 4/4 used and one pending", func(ctx context.Context) (bool, string) {
		out, err := s.Env.Kubectl(ctx, cluster.Alice, "get", "queues.holdshort.dev", "research", "--no-headers")
		return err == nil && strings.Contains(out, "4/4 nvidia.com/gpu") && strings.Contains(out, "WaitingForQuota"), out
	})
	if err != nil {
		return err
	}
	if _, err := s.Kubectl(ctx, "get", "queues"); err != nil {
		return err
	}
	s.Say("and kubectl holdshort explain tells why:")
	why, err := s.Explain(ctx, "train-b")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, why)
	}
	return Contains(why, "WaitingForQuota", "4 of 4 nvidia.com/gpu")
}

// CPUAndMemory is S2: requests of cpu and memory only, generated names.
func CPUAndMemory(ctx context.Context, s *Scene) error {
	s.Say("The queue lab may use 4 cpu and 8Gi. Alice creates three Jobs of 3 cpu and 4Gi with generateName:")
	manifest := `apiVersion: batch/v1
kind: Job
metadata:
  generateName: step-
  labels: {holdshort.dev/queue: lab}
spec:
  template:
    metadata:
      annotations: {plane.holdshort.dev/run: 3s}
    spec:
      restartPolicy: Never
      containers:
      - name: step
        image: step
        resources:
          requests: {cpu: 3, memory: 4Gi}
`
	var names []string
	for range 3 {
		out, err := s.KubectlIn(ctx, cluster.Alice, manifest, "-n", s.NS, "create", "-f", "-", "-o", "jsonpath={.metadata.name}")
		if err != nil {
			return err
		}
		names = append(names, strings.TrimSpace(out))
	}
	s.Show(heredoc("cat > step.yaml", manifest), "")
	s.Show("for i in 1 2 3; do kubectl -n "+s.NS+" create -f step.yaml -o name; done", "job.batch/"+strings.Join(names, "\njob.batch/"))
	for i, name := range names {
		if err := s.Running(ctx, name, 1); err != nil {
			return err
		}
		for _, later := range names[i+1:] {
			if err := s.NoPods(ctx, later); err != nil {
				return err
			}
		}
		if rest := names[i+1:]; len(rest) > 0 {
			s.Say("%s runs. In order of arrival wait: %s", name, strings.Join(rest, ", "))
		} else {
			s.Say("%s runs, the last one:", name)
		}
		if _, err := s.Kubectl(ctx, "get", "jobs", "-L", "holdshort.dev/queue,holdshort.dev/state"); err != nil {
			return err
		}
		if err := s.Finished(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
