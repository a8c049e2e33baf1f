package report

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/reason"
)

// startOf is what the ledger publishes of when a Job starts that waits, is held or
// rejected; nil: nothing, of nobody in its queue. That it is worked out is said of those
// alone that start by themselves.
func startOf(row Job, queue *v1alpha1.Queue) *Start {
	if queue == nil || !row.Waits() || len(queue.Status.Starts) == 0 {
		return nil
	}
	if s := published(row.UID, queue); s != nil {
		return &Start{Earliest: moment(s.Earliest), Latest: moment(s.Latest), Ground: s.Ground, Unknown: s.Unknown}
	}
	if row.State != StateWaiting || row.Code != "" && !reason.Of(reason.Code(row.Code)).Group.InLine() {
		return nil
	}
	return &Start{Unknown: "it is worked out for those first in line, every few seconds"}
}

func published(uid string, queue *v1alpha1.Queue) *v1alpha1.QueueStart {
	if queue == nil {
		return nil
	}
	for i := range queue.Status.Starts {
		if s := &queue.Status.Starts[i]; string(s.UID) == uid {
			return s
		}
	}
	return nil
}

// StartChanged tells whether something else is published of when a Job starts.
func StartChanged(uid string, before, after *v1alpha1.Queue) bool {
	return !equality.Semantic.DeepEqual(published(uid, before), published(uid, after))
}

func moment(at *metav1.Time) *time.Time {
	if at == nil {
		return nil
	}
	utc := at.UTC()
	return &utc
}
