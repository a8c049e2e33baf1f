//go:build plane

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
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
        strategy: StrictFIFO
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
`

// TestS8TheManagerIsKilledAtRandomMoments sends 60 Jobs through a quota of 4
// while the manager is killed ten times, every other time while it still starts
// or catches up. Whatever the moments were: never over quota, every Job runs
// exactly once, the end is the same.
func TestS8TheManagerIsKilledAtRandomMoments(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 8))
	const ns = "storm"
	ctx, s := scene(t, ns, fmt.Sprintf(killPolicy, ns))
	watched(t, s.Env, history.Rules{
		Limits:  []history.Limit{{Queue: "storm", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 4}},
		Queues:  []string{"storm"},
		RanOnce: true,
	})

	const jobs, kills = 60, 10
	var file strings.Builder
	want := map[string]string{"the queue": "0 pending, 0 admitted, used 0"}
	for i := range jobs {
		j := job{name: fmt.Sprintf("j%02d", i), queue: "storm", pods: 1 + i%2, gpus: 1, run: "200ms"}
		file.WriteString(j.yaml())
		want[j.name] = fmt.Sprintf("complete, %d succeeded, 0 failed", j.pods)
	}
	applied := make(chan error, 1)
	go func() {
		_, err := s.Apply(ctx, file.String())
		applied <- err
	}()
	for i := range kills {
		time.Sleep(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
		s.Manager.Kill()
		if must(t, s.Manager.Launch()); i%2 == 1 {
			must(t, s.Manager.WaitReady(ctx))
		}
	}
	must(t, s.Manager.WaitReady(ctx))
	must(t, <-applied)
	var last map[string]string
	if err := stories.Eventually(ctx, 4*time.Minute, "the end", func(ctx context.Context) (bool, string) {
		end, err := endOf(ctx, s)
		last = end
		return err == nil && cmp.Equal(want, end), fmt.Sprint(err)
	}); err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, cmp.Diff(want, last))
	}
	wantInOrder(t, ctx, s)
}

// endOf is what has come of the Jobs and their queue.
func endOf(ctx context.Context, s *stories.Scene) (map[string]string, error) {
	all, err := jobsOf(ctx, s)
	if err != nil {
		return nil, err
	}
	end := map[string]string{}
	for _, j := range all {
		state := "not complete"
		if complete(&j) {
			state = "complete"
		}
		end[j.Name] = fmt.Sprintf("%s, %d succeeded, %d failed", state, j.Status.Succeeded, j.Status.Failed)
	}
	end["the queue"], err = s.Env.Kubectl(ctx, cluster.Admin, "get", "queues.holdshort.dev", "storm",
		"-o", "jsonpath={.status.pending} pending, {.status.admitted} admitted, used {.status.usage[0].used}")
	return end, err
}

// bornBefore is by how much a Job's creation, known to the second, must precede
// another's admission for the manager to have known of it for sure.
const bornBefore = 3 * time.Second

// wantInOrder: no Job was admitted before one that had arrived earlier. In this
// line nobody overtakes.
func wantInOrder(t *testing.T, ctx context.Context, s *stories.Scene) {
	t.Helper()
	all, err := jobsOf(ctx, s)
	must(t, err)
	for _, early := range all {
		for _, late := range all {
			at := reservation(t, &late).Time
			known := early.CreationTimestamp.Add(bornBefore).UnixNano() < at
			if known && arrival(t, &early) < arrival(t, &late) && at < reservation(t, &early).Time {
				t.Errorf("%s arrived before %s and was admitted after it", early.Name, late.Name)
			}
		}
	}
}

func arrival(t *testing.T, j *batchv1.Job) int64 {
	t.Helper()
	stamp, err := strconv.ParseInt(j.Annotations["holdshort.dev/arrival"], 10, 64)
	if err != nil {
		t.Fatalf("the arrival of %s: %v", j.Name, err)
	}
	return max(stamp, j.CreationTimestamp.UnixNano())
}

func complete(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
