//go:build plane

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const killPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      storm:
        namespaces: {names: [%s]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
`

// TestS8TheManagerIsKilledAtRandomMoments sends 60 Jobs through a quota of 4
// while the manager is killed ten times. Whatever the moments were: never over
// quota, every Job runs exactly once, the end is the same.
func TestS8TheManagerIsKilledAtRandomMoments(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 8))
	const ns = "storm"
	ctx, s := scene(t, ns, fmt.Sprintf(killPolicy, ns),
		history.Limit{Queue: "storm", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 4})

	const jobs, kills = 60, 10
	var file strings.Builder
	for i := range jobs {
		file.WriteString(job{name: fmt.Sprintf("j%02d", i), queue: "storm", pods: 1 + i%2, gpus: 1, run: "200ms"}.yaml())
	}
	applied := make(chan error, 1)
	go func() {
		_, err := s.Apply(ctx, file.String())
		applied <- err
	}()
	for range kills {
		time.Sleep(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
		s.Manager.Kill()
		must(t, s.Manager.Start(ctx))
	}
	must(t, <-applied)
	must(t, stories.Eventually(ctx, 4*time.Minute, "all Jobs complete", func(ctx context.Context) (bool, string) {
		return completed(ctx, s, jobs)
	}))
	all, err := jobsOf(ctx, s)
	must(t, err)
	for _, j := range all {
		if want := *j.Spec.Completions; j.Status.Succeeded != want || j.Status.Failed != 0 {
			t.Errorf("%s: %d pods succeeded and %d failed, want %d and 0", j.Name, j.Status.Succeeded, j.Status.Failed, want)
		}
	}
}

func completed(ctx context.Context, s *stories.Scene, want int) (bool, string) {
	all, err := jobsOf(ctx, s)
	if err != nil {
		return false, err.Error()
	}
	n := 0
	for _, j := range all {
		if complete(&j) {
			n++
		}
	}
	return n == want, fmt.Sprintf("%d of %d complete", n, want)
}

func complete(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
