package rollout

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/reason"
)

// event tells something on the PolicyRollout. It is written here and not by the
// usual recorder, which counts events of one reason as one and keeps only the
// first text: two bad policies after each other are bad in different rows.
func (r *Rollout) event(ctx context.Context, kind, why, note string) {
	event := &eventsv1.Event{
		// Events about objects without a namespace stand in this one.
		ObjectMeta: metav1.ObjectMeta{GenerateName: v1alpha1.PolicyRolloutName + "-", Namespace: metav1.NamespaceDefault},
		EventTime:  metav1.NewMicroTime(r.Now()),
		Type:       kind, Reason: why, Note: reason.Note(note), Action: "Activate",
		ReportingController: "holdshort.dev/policy", ReportingInstance: r.Kept.Name.String(),
		Regarding: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "PolicyRollout", Name: v1alpha1.PolicyRolloutName,
		},
	}
	if err := r.Client.Create(ctx, event); err != nil {
		r.Log.Error(fmt.Errorf("writing an event on PolicyRollout: %w", err), "event lost", "reason", why, "note", note)
	}
}
