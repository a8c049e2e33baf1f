package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
)

const mutate = "package holdshort.policy.mutate\n\n"

func seconds(n int64) *int64 { return &n }

func TestMutateSaysWhatAWorkloadIsToHave(t *testing.T) {
	cases := []struct {
		name, rego string
		want       policies.Mutation
	}{
		{"nothing, where no rule is about it", "labels := {\"a\": \"b\"} if input.workload.user == \"bob\"\n", policies.Mutation{}},
		{"labels that several rules add up to",
			"labels[\"team.example/user\"] := input.workload.user\n\nlabels[\"team.example/centre\"] := \"1234\" if input.namespace.name\n",
			policies.Mutation{Labels: map[string]string{"team.example/user": "alice", "team.example/centre": "1234"}}},
		{"an annotation of any text", "annotations := {\"team.example/why\": \"because: it's so\"}\n",
			policies.Mutation{Annotations: map[string]string{"team.example/why": "because: it's so"}}},
		{"where its pods run", "nodeSelector := {\"disk\": \"nvme\"}\n\n" +
			"tolerations := [{\"key\": \"fast\", \"operator\": \"Exists\", \"effect\": \"NoExecute\", \"tolerationSeconds\": 60}]\n",
			policies.Mutation{NodeSelector: map[string]string{"disk": "nvme"}, Tolerations: []policies.Toleration{
				{Key: "fast", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: seconds(60)}}}},
		{"durations, none of them null", "activeDeadlineSeconds := 3600\n\nttlSecondsAfterFinished := 0\n",
			policies.Mutation{ActiveDeadlineSeconds: seconds(3600), TTLSecondsAfterFinished: seconds(0)}},
		{"a default, where the user said nothing", "activeDeadlineSeconds := 60 if input.workload.activeDeadline_s == 0\n",
			policies.Mutation{ActiveDeadlineSeconds: seconds(60)}},
		{"what an admitted Job has anyway", "podReplacementPolicy := \"Failed\"\n",
			policies.Mutation{PodReplacementPolicy: policies.ReplaceFailed}},
		{"a part of the raw Job", "annotations[\"team.example/image\"] := input.job.spec.template.spec.containers[0].image\n",
			policies.Mutation{Annotations: map[string]string{"team.example/image": "busybox"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := mustCompile(t, withRego(mutate+c.rego))
			in := job()
			in.Job = map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"containers": []any{map[string]any{"image": "busybox"}}}}}}
			got, err := r.Mutate(context.Background(), in)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if !r.HasMutate() || r.ReadsJob() != strings.Contains(c.rego, "input.job") {
				t.Errorf("HasMutate %v, ReadsJob %v", r.HasMutate(), r.ReadsJob())
			}
		})
	}
}

func TestMutateThatFailsSaysWhyAndWhere(t *testing.T) {
	cases := []struct{ name, rego, entrypoint, code, message string }{
		{"rules that disagree", "labels[\"a\"] := \"b\" if input.workload.user\n\nlabels[\"a\"] := \"c\" if input.workload.queue\n",
			"mutate", EvalConflict, `rule data.holdshort.policy.mutate.labels.a produced conflicting values`},
		{"a label that is a number", "labels := object.union({}, {\"a\": json.unmarshal(\"4\")})\n",
			"mutate.labels", EvalType, "labels.a: want a string, got the number 4"},
		{"a level that is no label", "annotations := {\"holdshort.dev/required-topology\": \"a rack\"}\n",
			"mutate.annotations", EvalType, `annotations["holdshort.dev/required-topology"]: "a rack" cannot be a node label`},
		{"a topology as a label", "labels := {\"holdshort.dev/required-topology\": \"rack\"}\n",
			"mutate.labels", EvalType, `labels["holdshort.dev/required-topology"]: keys with holdshort.dev/ are not the policy's to write`},
		{"a key of holdshort's", "labels := {concat(\"\", [\"holdshort.dev/\", \"queue\"]): \"b\"}\n",
			"mutate.labels", EvalType, `labels["holdshort.dev/queue"]: keys with holdshort.dev/ are not the policy's to write. Try: a key of your own`},
		{"a key of the Job controller's", "labels := {\"job-name\": \"b\"}\n",
			"mutate.labels", EvalType, "labels.job-name: Kubernetes itself writes or reads this key. Try: a key of your own"},
		{"another one", "annotations := {\"batch.kubernetes.io/job-tracking\": \"b\"}\n",
			"mutate.annotations", EvalType, `annotations["batch.kubernetes.io/job-tracking"]: Kubernetes itself writes or reads this key. Try: a key of your own`},
		{"kubectl's own", "annotations := {\"kubectl.kubernetes.io/last-applied-configuration\": \"b\"}\n", "mutate.annotations",
			EvalType, `annotations["kubectl.kubernetes.io/last-applied-configuration"]: Kubernetes itself writes or reads this key. Try: a key of your own`},
		{"one whose value the API server reads", "annotations := {\"controller.kubernetes.io/pod-deletion-cost\": \"abc\"}\n", "mutate.annotations",
			EvalType, `annotations["controller.kubernetes.io/pod-deletion-cost"]: Kubernetes itself writes or reads this key. Try: a key of your own`},
		{"an annotation that leaves its user no room", "annotations := {\"a\": sprintf(\"%010000d\", [1])}\n",
			"mutate.annotations", EvalType, "10001 bytes are more than the 8192 that a Job is given. Try: shorter texts"},
		{"more labels than a Job should have", "labels := {sprintf(\"a%d\", [i]): \"b\" | some i in numbers.range(1, 101)}\n",
			"mutate.labels", EvalType, "101 keys are more than the 100 that a Job is given. Try: fewer"},
		{"a selector of as many", "nodeSelector := {sprintf(\"a%d\", [i]): \"b\" | some i in numbers.range(1, 101)}\n",
			"mutate.nodeSelector", EvalType, "101 keys are more than the 100 that a Job is given. Try: fewer"},
		{"as many tolerations", "tolerations := [{\"key\": sprintf(\"a%d\", [i]), \"operator\": \"Exists\"} | some i in numbers.range(1, 101)]\n",
			"mutate.tolerations", EvalType, "101 are more than the 100 that a Job is given. Try: fewer"},
		{"what cannot be a key", "labels := {\"a b\": \"c\"}\n", "mutate.labels", EvalType, `labels["a b"]: "a b" cannot be a key: `},
		{"what cannot be a value", "labels := {\"a\": \"system:serviceaccount:x\"}\n",
			"mutate.labels", EvalType, `labels.a: "system:serviceaccount:x" cannot be a value: `},
		{"a selector that no node can have", "nodeSelector := {\"a\": \"b c\"}\n",
			"mutate.nodeSelector", EvalType, `nodeSelector.a: "b c" cannot be a value: `},
		{"a misspelt key of a toleration", "tolerations := [{\"key\": \"a\", \"operater\": \"Exists\"}]\n",
			"mutate.tolerations", EvalType, "tolerations[0].operater: unknown key. Try: operator"},
		{"an operator that there is not", "tolerations := [{\"key\": \"a\", \"operator\": \"Exist\"}]\n",
			"mutate.tolerations", EvalType, `tolerations[0].operator: unknown value "Exist". Try: Exists`},
		{"a toleration whose time is of no use", "tolerations := [{\"key\": \"a\", \"operator\": \"Exists\", \"tolerationSeconds\": 4}]\n",
			"mutate.tolerations", EvalType, "tolerations[0].tolerationSeconds: only NoExecute ends after a time. Try: effect: NoExecute"},
		{"a negative deadline", "activeDeadlineSeconds := 0 - input.workload.arrival_ns\n",
			"mutate.activeDeadlineSeconds", EvalType, "-1700000000000000000 is no duration. Try: a number of seconds that is not negative"},
		{"more than Kubernetes counts to", "ttlSecondsAfterFinished := input.workload.arrival_ns\n",
			"mutate.ttlSecondsAfterFinished", EvalType, "1700000000000000000 is no duration. Try: a number of seconds that is not negative"},
		{"a fraction", "ttlSecondsAfterFinished := count(input.workload.podSets) / 2\n",
			"mutate.ttlSecondsAfterFinished", EvalType, "want a whole number, got 0.5"},
		{"pods that are replaced before they are gone", "podReplacementPolicy := \"TerminatingOrFailed\"\n", "mutate.podReplacementPolicy",
			EvalType, `"TerminatingOrFailed" would start the next pod while the last one still holds its share. Try: "Failed", or leave the rule out`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := mustCompile(t, withRego(mutate+c.rego))
			_, err := r.Mutate(context.Background(), job())
			var failed *EvalError
			if !errors.As(err, &failed) {
				t.Fatalf("got %v, want an error of the rule", err)
			}
			if failed.Entrypoint != c.entrypoint || failed.Code != c.code || !strings.HasPrefix(failed.At, "policy.rego:") ||
				!strings.HasPrefix(failed.Message, c.message) {
				t.Errorf("got %+v, want %s, %s, %q", failed, c.entrypoint, c.code, c.message)
			}
			// A replay of the record says the same.
			if _, _, err := r.Answer(context.Background(), "mutate", map[string]any{
				"workload":  map[string]any{"user": "alice", "queue": "default", "arrival_ns": 1700000000000000000, "podSets": []any{1}},
				"namespace": map[string]any{"name": "research"}}); !errors.As(err, &failed) || failed.Code != c.code {
				t.Errorf("asked from a record: %v, want %s", err, c.code)
			}
		})
	}
}

func TestTwoWorkloadsHaveOneMutationUnlessTheyDifferInWhatItReads(t *testing.T) {
	asked := 0
	b := withRego(mutate + "labels[\"team.example/user\"] := input.workload.user\n")
	r, err := Compile(context.Background(), b, Options{Observe: func(d Decision) {
		if d.Entrypoint == groupMutate && !d.Shared {
			asked++
			result, err := d.Result()
			want := map[string]any{"labels": map[string]any{"team.example/user": d.Workload.User}}
			if diff := cmp.Diff(any(want), result); err != nil || diff != "" {
				t.Errorf("recorded: %v (-want +got):\n%s", err, diff)
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	one, other, third := job(), job(), job()
	other.Workload.Labels = map[string]string{"another": "label"}
	third.Workload.User = "bob"
	for _, in := range []*policies.Input{one, other, third} {
		got, err := r.Mutate(context.Background(), in)
		if err != nil || got.Labels["team.example/user"] != in.Workload.User {
			t.Errorf("%v, %v", got, err)
		}
	}
	if asked != 2 || r.SameMutation(one) != r.SameMutation(other) || r.SameMutation(one) == r.SameMutation(third) {
		t.Errorf("asked %d times, want twice: the first two are the same to the rule", asked)
	}
}
