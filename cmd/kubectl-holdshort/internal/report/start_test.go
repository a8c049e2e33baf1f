package report

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies"
)

func TestWhoIsToldWhenItStarts(t *testing.T) {
	queue := &v1alpha1.Queue{Status: v1alpha1.QueueStatus{Starts: []v1alpha1.QueueStart{{UID: "first", Unknown: "nobody knows"}}}}
	for name, c := range map[string]struct {
		uid, state, message string
		want                string // empty: nothing is said
	}{
		"the first in line":                  {"first", policies.StateQueued, "WaitingForQuota: 0 left", "nobody knows"},
		"one behind it":                      {"u", policies.StateQueued, "WaitingForMachines: 0 free", "it is worked out for those first in line, every few seconds"},
		"one that was not told anything yet": {"u", policies.StateQueued, "", "it is worked out for those first in line, every few seconds"},
		"one that makes room for it":         {"u", policies.StateQueued, "Preempted: it makes room", ""},
		"one that is rejected":               {"u", policies.StateRejected, "BadRequest: no", ""},
		"one that never fits":                {"u", policies.StateHeld, "NeverFits: too big", ""},
		"one whose claim is not there":       {"u", policies.StateQueued, "MissingObject: ResourceClaim x not found", ""},
		"one that is held, and known to be":  {"first", policies.StateHeld, "HeldByPolicy: not now", "nobody knows"},
	} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Name: "j", Namespace: "n", UID: types.UID(c.uid), Annotations: map[string]string{policies.AnnotationMessage: c.message},
			Labels: map[string]string{policies.LabelQueue: "q", policies.LabelState: c.state},
		}, Spec: batchv1.JobSpec{Suspend: new(true)}}
		got := ""
		if s := NewJob(job, queue).Start; s != nil {
			got = s.Unknown
		}
		if got != c.want {
			t.Errorf("%s is told %q, want %q", name, got, c.want)
		}
	}
}
