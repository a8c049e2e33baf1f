//go:build plane

package e2e

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

const priorityPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    classes:
      urgent: {priority: 1000}
      normal: {priority: 100}
    queues:
      line:
        namespaces: {names: [line]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 1}
`

// TestS5TheHighestPriorityGoesFirstThenArrivalAlsoWithinTheSameSecond tries each
// order anew: the most urgent one comes last, first and in between, names and
// UIDs fall differently, and all are created within one second.
func TestS5TheHighestPriorityGoesFirstThenArrivalAlsoWithinTheSameSecond(t *testing.T) {
	ctx, s := scene(t, "line", priorityPolicy, history.Limit{Queue: "line", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 1})
	for _, c := range []struct{ come, want []string }{
		{[]string{"zulu", "mike", "alfa", "urgent"}, []string{"urgent", "zulu", "mike", "alfa"}},
		{[]string{"urgent", "alfa", "zulu", "mike"}, []string{"urgent", "alfa", "zulu", "mike"}},
		{[]string{"mike", "urgent-2", "alfa", "urgent-1", "zulu"}, []string{"urgent-2", "urgent-1", "mike", "alfa", "zulu"}},
		{[]string{"alfa", "mike", "zulu", "kilo", "echo"}, []string{"alfa", "mike", "zulu", "kilo", "echo"}},
	} {
		t.Run(strings.Join(c.come, ","), func(t *testing.T) {
			create(t, ctx, s, "urgent-first", "24h")
			must(t, s.Running(ctx, "urgent-first", 1))
			queueUp(t, ctx, s, c.come)
			_, err := s.Kubectl(ctx, "delete", "job", "urgent-first", "--cascade=foreground")
			must(t, err)
			wantOrder(t, ctx, s, c.want)
		})
	}
	t.Run("with the manager stopped nobody saw who came first in the second: UIDs decide", func(t *testing.T) {
		s.Manager.Stop()
		uids := queueUp(t, ctx, s, []string{"zulu", "mike", "alfa", "kilo"})
		must(t, s.Manager.Start(ctx))
		wantOrder(t, ctx, s, slices.SortedFunc(maps.Keys(uids), func(a, b string) int { return cmp.Compare(uids[a], uids[b]) }))
	})
}

// queueUp creates Jobs in this order, one after the other within one second, and
// returns their UIDs.
func queueUp(t *testing.T, ctx context.Context, s *stories.Scene, names []string) map[string]types.UID {
	t.Helper()
	const tries = 5
	for range tries {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		uids, seconds := map[string]types.UID{}, map[int64]bool{}
		for _, name := range names {
			made := create(t, ctx, s, name, "100ms")
			uids[name], seconds[made.CreationTimestamp.Unix()] = made.UID, true
		}
		if len(seconds) == 1 {
			return uids
		}
		_, err := s.Kubectl(ctx, append([]string{"delete", "job", "--cascade=foreground"}, names...)...)
		must(t, err)
	}
	t.Fatalf("%d Jobs were not created within one second, in %d tries", len(names), tries)
	return nil
}

// create makes a Job as alice, without the time that kubectl takes. Its priority
// class is the first part of its name, or normal.
func create(t *testing.T, ctx context.Context, s *stories.Scene, name, run string) *batchv1.Job {
	t.Helper()
	class := "normal"
	if strings.HasPrefix(name, "urgent") {
		class = "urgent"
	}
	manifest := job{name: name, queue: "line", priority: class, pods: 1, gpus: 1, run: run}.yaml()
	j := &batchv1.Job{}
	must(t, yaml.Unmarshal([]byte(strings.TrimSuffix(manifest, "---\n")), j))
	alice, err := kubernetes.NewForConfig(s.Alice)
	must(t, err)
	made, err := alice.BatchV1().Jobs(s.NS).Create(ctx, j, metav1.CreateOptions{})
	must(t, err)
	return made
}

// wantOrder waits until all Jobs have finished, compares in which order they were
// admitted, and deletes them.
func wantOrder(t *testing.T, ctx context.Context, s *stories.Scene, want []string) {
	t.Helper()
	for _, name := range want {
		must(t, s.Finished(ctx, name))
	}
	jobs, err := jobsOf(ctx, s)
	must(t, err)
	slices.SortFunc(jobs, func(a, b batchv1.Job) int {
		return cmp.Compare(reservation(t, &a).Time, reservation(t, &b).Time)
	})
	var got []string
	for _, j := range jobs {
		got = append(got, j.Name)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("admitted in another order (-want +got):\n%s", diff)
	}
	_, err = s.Kubectl(ctx, "delete", "jobs", "--all", "--cascade=foreground")
	must(t, err)
}

func reservation(t *testing.T, j *batchv1.Job) demand.Reservation {
	t.Helper()
	r, err := stories.Reservation(j)
	must(t, err)
	return r
}

func jobsOf(ctx context.Context, s *stories.Scene) ([]batchv1.Job, error) {
	list, err := s.Client.BatchV1().Jobs(s.NS).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
