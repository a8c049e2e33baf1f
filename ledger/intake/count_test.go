package intake_test

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/intake"
)

func TestPodsAtOnceAreThoseOfTheJobController(t *testing.T) {
	cases := []struct {
		name string
		job  string
		want int64
		made int64 // what policies see; -1 means the same
	}{
		{"nothing said is one pod", `{}`, 1, -1},
		{"parallelism 0 wants none", `spec: {parallelism: 0}`, 0, -1},
		{"parallelism below 0 wants none", `spec: {parallelism: -3}`, 0, -1},
		{"completions cut parallelism", `spec: {parallelism: 8, completions: 3}`, 3, -1},
		{"more completions than parallelism run in waves", `spec: {parallelism: 2, completions: 100}`, 2, -1},
		{"a work queue runs parallelism", `spec: {parallelism: 5}`, 5, -1},
		{"one completion is not a work queue", `spec: {parallelism: 5, completions: 1}`, 1, -1},
		{"completions 0 want none", `spec: {parallelism: 5, completions: 0}`, 0, -1},
		{"two billion are two billion", `spec: {parallelism: 2000000000}`, 2_000_000_000, -1},
		{
			"finished pods give back what they had",
			`{spec: {parallelism: 10, completions: 10}, status: {succeeded: 7, active: 3}}`, 3, 10,
		},
		{
			"pods seen but not yet added up are finished too",
			`{spec: {parallelism: 10, completions: 10}, status: {succeeded: 5, uncountedTerminatedPods: {succeeded: [a, b]}}}`, 3, 10,
		},
		{
			"failed pods are replaced",
			`{spec: {parallelism: 4, completions: 4}, status: {failed: 3, active: 1}}`, 4, -1,
		},
		{
			"after lowering completions below what succeeded none is left",
			`{spec: {parallelism: 4, completions: 2}, status: {succeeded: 3}}`, 0, 2,
		},
		{
			"a work queue with a success only keeps what runs",
			`{spec: {parallelism: 5}, status: {succeeded: 1, active: 2}}`, 2, 5,
		},
		{
			"an Indexed Job makes no pod for a failed index",
			`{spec: {parallelism: 8, completions: 8, completionMode: Indexed}, status: {succeeded: 2, completedIndexes: "0,3", failedIndexes: "1,5-6"}}`, 3, 8,
		},
		{
			"indexes that overlap count once",
			`{spec: {parallelism: 8, completions: 8, completionMode: Indexed}, status: {completedIndexes: "0-3,2-4", failedIndexes: "3-5"}}`, 2, 8,
		},
		{
			"indexes out of range are clipped",
			`{spec: {parallelism: 4, completions: 4, completionMode: Indexed}, status: {completedIndexes: "3-900", failedIndexes: "7"}}`, 3, 4,
		},
		{
			"indexes that cannot be read count for nothing",
			`{spec: {parallelism: 4, completions: 4, completionMode: Indexed}, status: {completedIndexes: "x,1-,-,2-1,99999999999999999999"}}`, 4, -1,
		},
		{
			"a complete Job wants none",
			`{spec: {parallelism: 4}, status: {conditions: [{type: Complete, status: "True"}]}}`, 0, 4,
		},
		{
			"a failed Job wants none",
			`{spec: {parallelism: 4}, status: {conditions: [{type: Failed, status: "True"}]}}`, 0, 4,
		},
		{
			"a Job about to fail wants none",
			`{spec: {parallelism: 4}, status: {active: 4, conditions: [{type: FailureTarget, status: "True"}]}}`, 0, 4,
		},
		{
			"a Job about to succeed wants none",
			`{spec: {parallelism: 4}, status: {conditions: [{type: SuccessCriteriaMet, status: "True"}]}}`, 0, 4,
		},
		{
			"a condition that is not true says nothing",
			`{spec: {parallelism: 4}, status: {conditions: [{type: Failed, status: "False"}]}}`, 4, -1,
		},
		{
			"a Job being deleted wants none",
			`{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {parallelism: 4}}`, 0, 4,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := intake.Job(parse[batchv1.Job](t, c.job), intake.Env{})
			if got.PodSets[0].Count != c.want {
				t.Errorf("wants %d pods at once, want %d", got.PodSets[0].Count, c.want)
			}
			made := c.made
			if made < 0 {
				made = c.want
			}
			if got.Policy.PodSets[0].Count != made {
				t.Errorf("policies see %d pods, want %d", got.Policy.PodSets[0].Count, made)
			}
		})
	}
}

// Whatever the indexes say, what is left is what a plain set of them says.
func TestIndexesAreCountedLikeASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		completions := rapid.Int32Range(0, 40).Draw(t, "completions")
		done := map[int32]bool{}
		draw := func(label string) string {
			var parts []string
			for range rapid.IntRange(0, 6).Draw(t, label) {
				first := rapid.Int32Range(0, 50).Draw(t, "first")
				last := first + rapid.Int32Range(0, 9).Draw(t, "length")
				for i := first; i <= min(last, completions-1); i++ {
					done[i] = true
				}
				part := fmt.Sprintf("%d-%d", first, last)
				if first == last {
					part = fmt.Sprint(first)
				}
				parts = append(parts, part)
			}
			return strings.Join(parts, ",")
		}
		mode, many := batchv1.IndexedCompletion, int32(1000)
		failed := draw("failed")
		job := &batchv1.Job{
			Spec:   batchv1.JobSpec{Parallelism: &many, Completions: &completions, CompletionMode: &mode},
			Status: batchv1.JobStatus{CompletedIndexes: draw("completed"), FailedIndexes: &failed},
		}
		want := int64(completions) - int64(len(done))
		if got := intake.Job(job, intake.Env{}).PodSets[0].Count; got != want {
			t.Fatalf("completed %q, failed %q of %d: %d left, want %d", job.Status.CompletedIndexes, failed, completions, got, want)
		}
	})
}
