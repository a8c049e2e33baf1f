package stories

import (
	"context"
	"fmt"

	"github.com/holdshort/holdshort/test/plane/cluster"
)

// twoCardNodes are added for the second half of S3.
func twoCardNodes() []cluster.NodeSpec {
	return []cluster.NodeSpec{
		{Name: "node-4", GPUs: 2, Product: "NVIDIA-A10"},
		{Name: "node-5", GPUs: 2, Product: "NVIDIA-A10"},
	}
}

// notebook is a pod that nobody queued.
func notebook(name, node string, gpus int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata:
  name: %s
  annotations: {plane.holdshort.dev/stop: 100ms}
spec:
  nodeSelector: {kubernetes.io/hostname: %s}
  containers:
  - name: notebook
    image: notebook
    resources:
      limits: {nvidia.com/gpu: %d}
`, name, node, gpus)
}

// gang is a Job of pods with gpus each.
func gang(name, queue string, pods, gpus int, run string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  name: %s
  labels: {holdshort.dev/queue: %s}
spec:
  parallelism: %d
  completions: %d
  template:
    metadata:
      annotations: {plane.holdshort.dev/run: %s, plane.holdshort.dev/stop: 100ms}
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: train
        resources:
          limits: {nvidia.com/gpu: %d}
`, name, queue, pods, pods, run, gpus)
}

// TruthAboutMachines is S3: quota says yes, the machines say no.
func TruthAboutMachines(ctx context.Context, s *Scene) error {
	s.Say("The queue vision may use 8 GPUs, and there is a node with 8. But a notebook that nobody queued holds 5:")
	if _, err := s.Apply(ctx, notebook("notebook", "node-1", 5)); err != nil {
		return err
	}
	if err := s.PodRuns(ctx, "notebook"); err != nil {
		return err
	}
	if _, err := s.Apply(ctx, gang("finetune", "vision", 4, 1, "2s")); err != nil {
		return err
	}
	s.Say("The Job of 4 GPUs is within its quota, but it would sit Pending. It waits instead:")
	if err := s.Waits(ctx, "finetune", "WaitingForMachines"); err != nil {
		return err
	}
	why, err := s.Explain(ctx, "finetune")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, why)
	}
	if err := Contains(why, "WaitingForMachines", "3 free"); err != nil {
		return err
	}
	s.Say("The notebook ends; the Job starts:")
	if _, err := s.Kubectl(ctx, "delete", "pod", "notebook"); err != nil {
		return err
	}
	if err := s.Running(ctx, "finetune", 4); err != nil {
		return err
	}
	if _, err := s.Kubectl(ctx, "get", "pods"); err != nil {
		return err
	}
	return fragmented(ctx, s)
}

func fragmented(ctx context.Context, s *Scene) error {
	s.Say("Two more nodes come, node-4 and node-5, with 2 GPUs each. A notebook takes one GPU of each:")
	for _, node := range twoCardNodes() {
		if err := s.Kubelet.AddNode(ctx, node); err != nil {
			return err
		}
	}
	if _, err := s.Apply(ctx, documents(notebook("small-1", "node-4", 1), notebook("small-2", "node-5", 1))); err != nil {
		return err
	}
	for _, name := range []string{"small-1", "small-2"} {
		if err := s.PodRuns(ctx, name); err != nil {
			return err
		}
	}
	s.Say("Two GPUs are free, but not on one node. A Job of one pod with 2 GPUs waits with Fragmented, not with a Pending pod:")
	if _, err := s.Apply(ctx, gang("pair", "split", 1, 2, "1s")); err != nil {
		return err
	}
	if err := s.Waits(ctx, "pair", "Fragmented"); err != nil {
		return err
	}
	why, err := s.Explain(ctx, "pair")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, why)
	}
	if err := Contains(why, "Fragmented"); err != nil {
		return err
	}
	s.Say("One of the notebooks ends; the Job starts, and completes:")
	if _, err := s.Kubectl(ctx, "delete", "pod", "small-1"); err != nil {
		return err
	}
	if err := s.Finished(ctx, "pair"); err != nil {
		return err
	}
	_, err = s.Kubectl(ctx, "get", "jobs", "-L", "holdshort.dev/queue,holdshort.dev/state")
	return err
}
