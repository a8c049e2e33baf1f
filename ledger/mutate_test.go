package ledger

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

const mutatePackage = "package holdshort.policy.mutate\n\n"

// rules puts another policy into force.
func (b *bench) rules(rego string) {
	b.t.Helper()
	policy := engine.New(engine.Options{})
	_, err := policy.Activate(b.t.Context(), engine.Bundle{Source: "test", Files: map[string][]byte{
		"data.yaml": []byte(loopPolicy), "mutate.rego": []byte(rego)}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.Policy = policy.Active
}

func (b *bench) told(name string) string {
	b.t.Helper()
	b.step()
	b.now = b.now.Add(explainAfter)
	b.step()
	job, _ := b.get(name)
	return job.Annotations[policies.AnnotationMessage]
}

func newMutateBench(t *testing.T, rego string) *bench {
	t.Helper()
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.rules(rego)
	return b
}

func TestWhatMutateSelectsDecidesAndIsWritten(t *testing.T) {
	b := newMutateBench(t, mutatePackage+`nodeSelector := {"disk": "nvme"}

tolerations := [{"key": "fast", "operator": "Exists"}]
`)
	b.create("train", 1)
	if message := b.told("train"); !strings.HasPrefix(message, "NeverFits") {
		t.Errorf("no node has the label, and it is told %q", message)
	}
	b.inbox.put(func(batch *batch) {
		fast := node("n2", 8)
		fast.Labels["disk"] = "nvme"
		fast.Spec.Taints = []corev1.Taint{{Key: "fast", Effect: corev1.TaintEffectNoSchedule}}
		batch.nodes["n2"] = fast
	})
	b.step()
	b.wantAdmitted(map[string]bool{"train": true})
	job, _ := b.get("train")
	spec := job.Spec.Template.Spec
	if spec.NodeSelector["disk"] != "nvme" || len(spec.Tolerations) != 1 || spec.Tolerations[0].Key != "fast" {
		t.Errorf("node selector %v, tolerations %v", spec.NodeSelector, spec.Tolerations)
	}
	if !strings.Contains(job.Annotations[policies.AnnotationReservation], `"plan":{"n2":1}`) {
		t.Errorf("planned elsewhere: %s", job.Annotations[policies.AnnotationReservation])
	}
}

func TestAMutationThatContradictsTheFlavorIsToldAsTheUsersOwn(t *testing.T) {
	flavored := strings.Replace(loopPolicy, "{gpu: {}}", "{gpu: {nodeLabels: {disk: slow}}}", 1)
	b := newBench(t, map[string]string{"data.yaml": flavored, "mutate.rego": mutatePackage + "nodeSelector := {\"disk\": \"nvme\"}\n"})
	b.create("train", 1)
	if message := b.told("train"); !strings.HasPrefix(message, "NoMatchingFlavor") || !strings.Contains(message, "nvme") {
		t.Errorf("told %q", message)
	}
}

func TestAMutateThatFailsHoldsItsJobUntilItIsRepaired(t *testing.T) {
	b := newMutateBench(t, mutatePackage+"labels[\"user\"] := input.workload.labels.odd\n")
	b.create("fine", 1)
	b.create("odd", 1)
	job, _ := b.get("odd")
	job.Labels["odd"] = "x"
	if err := b.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	b.watch("odd")
	b.rules(mutatePackage + "labels[\"user\"] := concat(\" \", [\"not\", input.workload.labels.odd])\n")
	if message := b.told("odd"); !strings.HasPrefix(message, "PolicyError") || !strings.Contains(message, "mutate.rego:3") || !strings.Contains(message, "not x") {
		t.Errorf("told %q", message)
	}
	b.wantAdmitted(map[string]bool{"fine": true, "odd": false})
	b.rules(mutatePackage + "labels[\"user\"] := input.workload.labels.odd\n")
	b.step()
	b.wantAdmitted(map[string]bool{"odd": true})
	if job, _ = b.get("odd"); job.Labels["user"] != "x" || job.Spec.Template.Labels["user"] != "x" {
		t.Errorf("labels %v, of the pods %v", job.Labels, job.Spec.Template.Labels)
	}
}

func TestWhatClassifyAndHoldReadIsTheJobAsMutateWantsIt(t *testing.T) {
	b := newMutateBench(t, `package holdshort.policy

mutate.labels["size"] := "big" if input.workload.total["nvidia.com/gpu"] > 1

classify.priority := 7 if input.workload.labels.size == "big"

else := 0

hold contains {"code": "team.example/Disk", "message": "big"} if input.workload.labels.size == "big"
`)
	b.create("big", 2)
	b.create("small", 1)
	if message := b.told("big"); !strings.Contains(message, "team.example/Disk") {
		t.Errorf("told %q", message)
	}
	b.wantAdmitted(map[string]bool{"big": false, "small": true})
	if verdict := b.jobs["uid-big"].verdict.Verdict; verdict.Priority != 7 {
		t.Errorf("classify saw another Job: %+v", verdict)
	}
}

func TestAPolicyThatChangesWhileAJobWaitsWritesTheNewAndOneThatRunsIsLeftAlone(t *testing.T) {
	first := mutatePackage + "labels := {\"a\": \"1\", \"b\": \"1\"}\n\nttlSecondsAfterFinished := 60 if not input.job.spec.ttlSecondsAfterFinished\n"
	b := newMutateBench(t, first)
	b.create("runs", 4)
	b.create("waits", 4)
	b.step()
	b.wantAdmitted(map[string]bool{"runs": true, "waits": false})
	before, _ := b.get("runs")
	b.rules(mutatePackage + "labels := {\"b\": \"2\"}\n")
	b.step()
	b.watch("runs")
	b.step()
	after, _ := b.get("runs")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the running Job was written to (-before +after):\n%s", diff)
	}
	b.begin("runs")
	after, _ = b.get("runs")
	if err := b.store.Delete(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	b.watch("runs")
	b.step()
	b.wantAdmitted(map[string]bool{"waits": true})
	job, _ := b.get("waits")
	if _, old := job.Labels["a"]; old || job.Labels["b"] != "2" || job.Spec.TTLSecondsAfterFinished != nil {
		t.Errorf("labels %v, time to live %v", job.Labels, job.Spec.TTLSecondsAfterFinished)
	}
}
