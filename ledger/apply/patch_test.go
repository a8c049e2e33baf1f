package apply_test

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// userJob is a suspended Job whose owner selects zone a, tolerates t and prefers
// fast nodes.
func userJob() *batchv1.Job {
	suspended := true
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "research", Name: "train", UID: "u1", ResourceVersion: "7",
		Labels: map[string]string{policies.LabelQueue: "research"},
	}}
	job.Spec.Suspend = &suspended
	job.Spec.Template.Spec = corev1.PodSpec{
		NodeSelector: map[string]string{"zone": "a"},
		Tolerations:  []corev1.Toleration{{Key: "t", Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "fast", Operator: corev1.NodeSelectorOpExists}},
			}}},
		}},
	}
	return job
}

func admission(flavor string, nodes ...string) effect.Admit {
	return effect.Admit{
		Job: &demand.Job{UID: "u1", Arrival: demand.Arrival{Effective: 5, Stamp: 5}},
		Reservation: demand.Reservation{UID: "u1", Queue: "research", PodSets: []demand.ReservedPodSet{
			{Name: "main", Count: 2, Flavors: map[string]string{"pods": flavor}},
		}},
		NodeSelector: map[string]string{"gpu": flavor},
		Tolerations:  []policies.Toleration{{Key: flavor, Operator: "Exists"}},
		PreferNodes:  nodes,
	}
}

// patched applies a merge patch as the API server does.
func patched(t *testing.T, job *batchv1.Job, patch []byte, err error) *batchv1.Job {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		t.Fatal(err)
	}
	var result batchv1.Job
	if err := json.Unmarshal(after, &result); err != nil {
		t.Fatal(err)
	}
	return &result
}

func TestAdmittingLiftsTheSuspensionAndInjectsTheFlavorBesideWhatTheUserWrote(t *testing.T) {
	job := userJob()
	patch, err := apply.AdmitPatch(job, admission("h100", "node-1"))
	got := patched(t, job, patch, err)
	if *got.Spec.Suspend {
		t.Error("still suspended")
	}
	spec := got.Spec.Template.Spec
	if diff := cmp.Diff(map[string]string{"zone": "a", "gpu": "h100"}, spec.NodeSelector); diff != "" {
		t.Errorf("node selector (-want +got):\n%s", diff)
	}
	if len(spec.Tolerations) != 2 || spec.Tolerations[0].Key != "t" || spec.Tolerations[1].Key != "h100" {
		t.Errorf("tolerations are %v, want the user's t and then h100", spec.Tolerations)
	}
	preferred := spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	if len(preferred) != 2 || preferred[0].Weight != 1 || preferred[1].Preference.MatchExpressions[0].Values[0] != "node-1" {
		t.Errorf("preferences are %v, want the user's own and then node-1", preferred)
	}
	if got.Spec.Template.Labels[policies.LabelQueue] != "research" || got.Spec.Template.Annotations[policies.AnnotationFlavors] != `{"pods":"h100"}` {
		t.Errorf("the template carries labels %v, annotations %v", got.Spec.Template.Labels, got.Spec.Template.Annotations)
	}
	if got.Labels[policies.LabelState] != policies.StateAdmitted || got.Annotations[policies.AnnotationArrival] != "5" {
		t.Errorf("the Job carries labels %v, annotations %v", got.Labels, got.Annotations)
	}
}

func TestAdmittingAgainOnAnotherFlavorLeavesNothingOfTheFirst(t *testing.T) {
	job := userJob()
	patch, err := apply.AdmitPatch(job, admission("h100", "node-1"))
	first := patched(t, job, patch, err)
	patch, err = apply.SuspendPatch(first, effect.Suspend{
		Job: &demand.Job{UID: "u1"}, Reason: reason.Reason{Code: reason.BackingOff, Message: "no pod was made"},
	})
	back := patched(t, first, patch, err)
	if !*back.Spec.Suspend || back.Annotations[policies.AnnotationReservation] != "" {
		t.Fatalf("taken back, but suspend is %v and the reservation %q", *back.Spec.Suspend, back.Annotations[policies.AnnotationReservation])
	}
	patch, err = apply.AdmitPatch(back, admission("a100", "node-2"))
	second := patched(t, back, patch, err)

	patch, err = apply.AdmitPatch(job, admission("a100", "node-2"))
	direct := patched(t, job, patch, err)
	if diff := cmp.Diff(direct.Spec, second.Spec); diff != "" {
		t.Errorf("not the same as being admitted on a100 at once (-direct +second):\n%s", diff)
	}
}

func TestAWaitingJobSaysWhereThePolicyPutItIfItsLabelDoesNot(t *testing.T) {
	job := userJob()
	asked := &demand.Job{Queue: "research"}
	for _, c := range []struct{ put, want string }{{"lab", "lab"}, {"research", ""}, {"lab", "lab"}, {"", ""}} {
		patch, err := apply.ExplainPatch(job, effect.Explain{Job: asked, Queue: c.put})
		job = patched(t, job, patch, err)
		if got := job.Annotations[policies.AnnotationInQueue]; got != c.want {
			t.Errorf("put into %q it says %q, want %q", c.put, got, c.want)
		}
	}
	job.Annotations[policies.AnnotationInQueue] = "lab"
	patch, err := apply.AdmitPatch(job, admission("h100"))
	if got := patched(t, job, patch, err).Annotations[policies.AnnotationInQueue]; got != "" {
		t.Errorf("admitted, it still says %q beside its reservation", got)
	}
}

// What is said of the nodes goes with the reason that it is about.
func TestAJobThatWaitsForMachinesSaysHowTheNodesLook(t *testing.T) {
	nodes := &demand.Nodes{UID: "u1", Time: 7, Flavors: []reason.FlavorNodes{{Flavor: "h100", Groups: []reason.NodeGroup{{Nodes: 2, Node: "n", Why: "cordoned"}}}}}
	explain := func(job *batchv1.Job, n *demand.Nodes) *batchv1.Job {
		patch, err := apply.ExplainPatch(job, effect.Explain{Job: &demand.Job{UID: "u1"}, Nodes: n})
		return patched(t, job, patch, err)
	}
	told := explain(userJob(), nodes)
	if diff := cmp.Diff(nodes, intake.Nodes(told)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	copied := told.DeepCopy()
	copied.UID = "u2"
	patch, err := apply.AdmitPatch(told, admission("h100"))
	for name, job := range map[string]*batchv1.Job{
		"one that waits for something else": explain(told, nil), "one that runs": patched(t, told, patch, err), "a copy of it": copied,
	} {
		if got := intake.Nodes(job); got != nil {
			t.Errorf("%s still has %+v", name, got)
		}
	}
}

func TestAPatchHoldsOnlyForTheVersionItWasDecidedOn(t *testing.T) {
	for name, patchOf := range map[string]func(*batchv1.Job) ([]byte, error){
		"admit":   func(j *batchv1.Job) ([]byte, error) { return apply.AdmitPatch(j, admission("h100")) },
		"suspend": func(j *batchv1.Job) ([]byte, error) { return apply.SuspendPatch(j, effect.Suspend{Job: &demand.Job{}}) },
		"explain": func(j *batchv1.Job) ([]byte, error) { return apply.ExplainPatch(j, effect.Explain{Job: &demand.Job{}}) },
	} {
		patch, err := patchOf(userJob())
		if err != nil {
			t.Fatal(err)
		}
		var p struct{ Metadata metav1.ObjectMeta }
		if err := json.Unmarshal(patch, &p); err != nil {
			t.Fatal(err)
		}
		if p.Metadata.ResourceVersion != "7" || p.Metadata.UID != "u1" {
			t.Errorf("%s: the patch is for version %q of %q, want 7 of u1", name, p.Metadata.ResourceVersion, p.Metadata.UID)
		}
	}
}

// TestTheTimeThatAJobHasRunStaysOnIt from the first taking back on: what comes
// after adds to it.
func TestTheTimeThatAJobHasRunStaysOnIt(t *testing.T) {
	job := userJob()
	suspend := func(ran int64) {
		patch, err := apply.SuspendPatch(job, effect.Suspend{Job: &demand.Job{UID: "u1"}, Ran: ran, Reason: reason.Reason{Code: reason.OutOfTime}})
		job = patched(t, job, patch, err)
	}
	admit := func() {
		a := admission("h100")
		a.Job = intake.Job(job, intake.Env{})
		patch, err := apply.AdmitPatch(job, a)
		job = patched(t, job, patch, err)
	}
	want := func(when string, ran int64, state string) {
		t.Helper()
		if got := intake.Job(job, intake.Env{}); got.Ran != ran || got.State != state {
			t.Errorf("%s it has run for %d and is %s, want %d and %s", when, got.Ran, got.State, ran, state)
		}
	}
	admit()
	want("admitted for the first time,", 0, policies.StateAdmitted)
	if text, there := job.Annotations[policies.AnnotationRan]; there {
		t.Errorf("where nothing is to be said it says %q", text)
	}
	suspend(70)
	want("taken back,", 70, policies.StateHeld)
	admit()
	want("admitted again,", 70, policies.StateAdmitted)
	suspend(100)
	want("taken back again,", 100, policies.StateHeld)
}

func TestAnArrivalIsStampedOnce(t *testing.T) {
	job := userJob()
	job.Annotations = map[string]string{policies.AnnotationArrival: "3"}
	patch, err := apply.AdmitPatch(job, admission("h100"))
	if got := patched(t, job, patch, err).Annotations[policies.AnnotationArrival]; got != "3" {
		t.Errorf("arrival is %s, want the 3 that was there", got)
	}
}

func TestWhatTheUserEditsAfterATakingBackCountsAtTheNextAdmission(t *testing.T) {
	job := userJob()
	patch, err := apply.AdmitPatch(job, admission("h100", "node-1"))
	first := patched(t, job, patch, err)
	patch, err = apply.SuspendPatch(first, effect.Suspend{Job: &demand.Job{UID: "u1"}, Reason: reason.Reason{Code: reason.HeldByOwner}})
	back := patched(t, first, patch, err)

	back.Spec.Template.Spec.NodeSelector["zone"] = "b"
	back.Spec.Template.Spec.Tolerations = append(back.Spec.Template.Spec.Tolerations, corev1.Toleration{Key: "new", Operator: corev1.TolerationOpExists})
	patch, err = apply.AdmitPatch(back, admission("a100", "node-2"))
	spec := patched(t, back, patch, err).Spec.Template.Spec
	if diff := cmp.Diff(map[string]string{"zone": "b", "gpu": "a100"}, spec.NodeSelector); diff != "" {
		t.Errorf("node selector (-want +got):\n%s", diff)
	}
	var keys []string
	for _, toleration := range spec.Tolerations {
		keys = append(keys, toleration.Key)
	}
	if diff := cmp.Diff([]string{"t", "new", "a100"}, keys); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
}
