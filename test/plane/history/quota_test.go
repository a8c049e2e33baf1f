package history

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestQuotaIsJudgedWheneverSomethingIsCharged(t *testing.T) {
	judge(t, []verdict{
		{
			name: "two Jobs one after the other keep a limit that both together would break",
			tape: new(tape).job(Added, queuedJob("a")).job(Added, queuedJob("b")).
				job(Changed, queuedJob("a"), admittedAt(1)).
				job(Changed, queuedJob("a"), admittedAt(1), completed).
				job(Changed, queuedJob("b"), admittedAt(2)),
			rules: Rules{Limits: limit(2)},
		},
		{
			name: "two Jobs at once break it at the second admission",
			tape: new(tape).job(Added, queuedJob("a")).job(Added, queuedJob("b")).
				job(Changed, queuedJob("a"), admittedAt(1)).
				job(Changed, queuedJob("b"), admittedAt(2)),
			rules: Rules{Limits: limit(2)},
			want:  []string{"quota: job/ns/b at version 4: queue research then held 4 of nvidia.com/gpu on flavor h100, and 2 were allowed"},
		},
		{
			name: "a pod that still terminates is charged though its Job is finished",
			tape: new(tape).node("n", 8).job(Added, queuedJob("a")).job(Added, queuedJob("b")).
				job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1)).pod(Changed, podOf("a", 1), boundTo("n")).
				pod(Changed, podOf("a", 1), boundTo("n"), deleting).
				job(Deleted, queuedJob("a"), admittedAt(1)).
				job(Changed, queuedJob("b"), admittedAt(2)),
			rules: Rules{Limits: limit(2)},
			want:  []string{"quota: job/ns/b at version 9: queue research then held 3 of nvidia.com/gpu on flavor h100, and 2 were allowed"},
		},
		{
			name: "a terminal pod is not",
			tape: new(tape).node("n", 8).job(Added, queuedJob("a")).job(Added, queuedJob("b")).
				job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1), boundTo("n")).
				pod(Changed, podOf("a", 1), boundTo("n"), inPhase(corev1.PodSucceeded)).
				job(Deleted, queuedJob("a"), admittedAt(1)).
				job(Changed, queuedJob("b"), admittedAt(2)),
			rules: Rules{Limits: limit(2)},
		},
		{
			name: "the pods of an admitted Job are charged once, by the larger of claim and truth",
			tape: new(tape).node("n", 8).job(Added, queuedJob("a")).job(Added, queuedJob("b")).
				job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1), boundTo("n")).pod(Added, podOf("a", 2), boundTo("n")).
				pod(Added, podOf("a", 3), boundTo("n")).
				job(Changed, queuedJob("b"), admittedAt(2)),
			rules: Rules{Limits: limit(4)},
			want:  []string{"quota: job/ns/b at version 8: queue research then held 5 of nvidia.com/gpu on flavor h100, and 4 were allowed"},
		},
		{
			name: "a replacement beside a pod that terminates breaks it as it is made, not again as it is bound",
			tape: new(tape).node("n", 8).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1), boundTo("n")).pod(Added, podOf("a", 2), boundTo("n")).
				pod(Changed, podOf("a", 1), boundTo("n"), deleting).
				pod(Added, podOf("a", 3)).
				pod(Deleted, podOf("a", 1), boundTo("n"), deleting).
				pod(Changed, podOf("a", 3), boundTo("n")),
			rules: Rules{Limits: limit(2)},
			want:  []string{"quota: pod/ns/a-3 at version 7: queue research then held 3 of nvidia.com/gpu on flavor h100, and 2 were allowed"},
		},
		{
			name: "a replacement of a pod that is gone does not",
			tape: new(tape).node("n", 8).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1), boundTo("n")).pod(Added, podOf("a", 2), boundTo("n")).
				pod(Changed, podOf("a", 1), boundTo("n"), deleting).
				pod(Changed, podOf("a", 1), boundTo("n"), deleting, inPhase(corev1.PodFailed)).
				pod(Added, podOf("a", 3)).pod(Changed, podOf("a", 3), boundTo("n")),
			rules: Rules{Limits: limit(2)},
		},
		{
			name: "a pod that leaves its Job by another label is charged beside it",
			tape: new(tape).node("n", 8).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1), boundTo("n")).pod(Added, podOf("a", 2), boundTo("n")).
				pod(Changed, podOf("a", 1), boundTo("n"), onItsOwn).
				pod(Added, podOf("a", 3)),
			rules: Rules{Limits: limit(2)},
			want:  []string{"quota: pod/ns/a-1 at version 6: queue research then held 3 of nvidia.com/gpu on flavor h100, and 2 were allowed"},
		},
		{
			name: "pods that a deletion leaves behind are charged once, also while their Job is still there",
			tape: new(tape).node("n", 8).job(Added, queuedJob("a")).job(Added, queuedJob("b")).
				job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1), boundTo("n")).pod(Added, podOf("a", 2)).
				job(Changed, queuedJob("a"), admittedAt(1), beingDeleted).
				pod(Changed, podOf("a", 1), boundTo("n"), onItsOwn).pod(Changed, podOf("a", 2), onItsOwn).
				job(Deleted, queuedJob("a"), admittedAt(1), beingDeleted).
				job(Changed, queuedJob("b"), admittedAt(2)),
			rules: Rules{Limits: limit(2)},
			want:  []string{"quota: job/ns/b at version 11: queue research then held 4 of nvidia.com/gpu on flavor h100, and 2 were allowed"},
		},
		{
			name: "an orphan that is not bound is charged, for it will be",
			tape: new(tape).job(Added, queuedJob("a")).job(Added, queuedJob("b")).
				job(Changed, queuedJob("a"), admittedAt(1)).pod(Added, podOf("a", 1)).
				job(Deleted, queuedJob("a"), admittedAt(1)).
				job(Changed, queuedJob("b"), admittedAt(2)),
			rules: Rules{Limits: limit(2)},
			want:  []string{"quota: job/ns/b at version 6: queue research then held 3 of nvidia.com/gpu on flavor h100, and 2 were allowed"},
		},
		{
			name: "a pod that names a Job elsewhere is nobody's, and adds nothing to that one",
			tape: new(tape).node("n", 8).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1), boundTo("n"), elsewhere).pod(Added, podOf("a", 2), elsewhere, unmarked),
			rules: Rules{Limits: limit(2)},
			want:  []string{"quota: pod/other/a-1 at version 4: queue research then held 3 of nvidia.com/gpu on flavor h100, and 2 were allowed"},
		},
		{
			name: "growing while it runs adds, and so does a second admission when the quota was lowered",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				job(Changed, queuedJob("a"), admittedAt(1), grown).
				job(Changed, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(2)),
			rules: Rules{Limits: append(limit(3), Limit{"research", "h100", gpu, 1, 4})},
			want: []string{
				"quota: job/ns/a at version 3: queue research then held 4 of nvidia.com/gpu on flavor h100, and 3 were allowed",
				"quota: job/ns/a at version 5: queue research then held 2 of nvidia.com/gpu on flavor h100, and 1 were allowed",
			},
		},
		{
			name: "a Job is let go again over its own pods, that terminate, and takes no more than they held; but over a lowered quota",
			tape: new(tape).node("n", 8).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1), boundTo("n")).pod(Added, podOf("a", 2), boundTo("n")).
				job(Changed, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(2)).
				job(Changed, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(3)),
			rules: Rules{Limits: append(limit(2), Limit{"research", "h100", gpu, 1, 8})},
			want:  []string{"quota: job/ns/a at version 9: queue research then held 2 of nvidia.com/gpu on flavor h100, and 1 were allowed"},
		},
		{
			name: "what was there before the recording, and what goes, adds nothing",
			tape: new(tape).node("n", 8).job(Existed, queuedJob("a"), admittedAt(1)).
				pod(Existed, podOf("a", 1), boundTo("n")).pod(Existed, podOf("a", 2), boundTo("n")).pod(Existed, podOf("a", 3), boundTo("n")).
				pod(Changed, podOf("a", 3), boundTo("n"), deleting).pod(Deleted, podOf("a", 3), boundTo("n")),
			rules: Rules{Limits: limit(1)},
		},
		{
			name: "of two limits the one in force at the admission counts",
			tape: new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				job(Added, queuedJob("b")).job(Changed, queuedJob("b"), admittedAt(2)),
			rules: Rules{Limits: append(limit(2), Limit{"research", "h100", gpu, 4, 3})},
		},
		{
			name: "what is converted counts in its unit, of who was admitted by another policy, too",
			tape: new(tape).node("n", 8).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)).
				pod(Added, podOf("a", 1), boundTo("n")).pod(Added, podOf("a", 2), boundTo("n")).pod(Added, podOf("a", 3), boundTo("n")),
			rules: Rules{
				Conversions: map[string]map[string]int64{gpu: {"slices": 7}},
				Limits:      []Limit{{Queue: "research", Flavor: "h100", Resource: "slices", Amount: 14}, {Queue: "research", Flavor: "h100", Resource: gpu}},
			},
			want: []string{"quota: pod/ns/a-3 at version 6: queue research then held 21 of slices on flavor h100, and 14 were allowed"},
		},
		{
			name:  "other queues are not judged",
			tape:  new(tape).job(Added, queuedJob("a")).job(Changed, queuedJob("a"), admittedAt(1)),
			rules: Rules{Limits: limit(0), Queues: []string{"other"}},
		},
		{
			name: "the ledger takes a reservation back with the suspension",
			tape: new(tape).job(Added, queuedJob("a")).job(Added, queuedJob("b")).
				job(Changed, queuedJob("a"), admittedAt(1)).job(Changed, queuedJob("a")).
				job(Changed, queuedJob("b"), admittedAt(2)),
			rules: Rules{Limits: limit(2)},
		},
	})
}
