package intake

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// reservation on the Job, nil if there is none that counts: one of another UID
// came with a copied manifest, one that cannot be read says nothing, and one that
// the ledger would not have written is forged. A suspended Job has none: only
// the ledger's own suspension takes the annotation away, and whoever else
// suspends a Job ends its admission as well. Keys that this build does not know
// are passed over, so that going back to an older build disowns no running Job.
func reservation(job *batchv1.Job) *demand.Reservation {
	var r demand.Reservation
	if suspended(job) || !record(job, policies.AnnotationReservation, &r) || r.UID != string(job.UID) {
		return nil
	}
	if !isName(r.Queue) || len(r.PodSets) != 1 || !sound(&r.PodSets[0]) {
		return nil
	}
	return &r
}

// sound: the pod set is that of a batch/v1 Job, with amounts that can be charged
// to flavors that there can be.
func sound(set *demand.ReservedPodSet) bool {
	return set.Name == PodSetName && set.Count >= 0 && !negative(set.Requests) && !negative(set.Shared) && areNames(set.Flavors)
}

// isName tells whether a policy may have a queue or flavor of this name.
func isName(text string) bool { return len(validation.IsDNS1123Label(text)) == 0 }

func areNames(flavors map[string]string) bool {
	for _, name := range flavors {
		if !isName(name) {
			return false
		}
	}
	return true
}

func negative(amounts resource.List) bool {
	for _, amount := range amounts {
		if amount < 0 {
			return true
		}
	}
	return false
}

// backoff on the Job; zero if there is none of this UID, or of what it asks for now.
func backoff(job *batchv1.Job) demand.Backoff {
	var b demand.Backoff
	if !record(job, policies.AnnotationBackoff, &b) || b.UID != string(job.UID) {
		return demand.Backoff{}
	}
	if b.Of != "" && b.Of != Tried(job) {
		return demand.Backoff{}
	}
	b.Count, b.Until = max(0, b.Count), max(0, b.Until)
	return b
}

// preempted is whom the Job made room for, nil if there is no record of this UID.
func preempted(job *batchv1.Job) *demand.Preempted {
	var p demand.Preempted
	if !record(job, policies.AnnotationPreempted, &p) || p.UID != string(job.UID) || p.By == "" {
		return nil
	}
	return &p
}

// Nodes is how the nodes looked to a Job when it was told so, nil if there is no record of this UID.
func Nodes(job *batchv1.Job) *demand.Nodes {
	var n demand.Nodes
	if !record(job, policies.AnnotationNodes, &n) || n.UID != string(job.UID) {
		return nil
	}
	return &n
}

// record reads a JSON annotation; false if it is not there or not what it
// should be.
func record(job *batchv1.Job, key string, into any) bool {
	text, ok := job.Annotations[key]
	return ok && job.UID != "" && json.Unmarshal([]byte(text), into) == nil
}

// arrival is the Job's place in the queue. Without a stamp it depends on who
// saw the Job: if the API server's own policy saw it created in its queue (it
// leaves a state), it came in its creation second, behind all that are stamped;
// else, or if it came into its queue later, it counts from when the ledger first
// saw it there.
func arrival(job *batchv1.Job, firstSeen int64) demand.Arrival {
	created := nanoseconds(job.CreationTimestamp)
	if stamp, err := strconv.ParseInt(job.Annotations[policies.AnnotationArrival], 10, 64); err == nil && stamp > 0 {
		return demand.Arrival{Effective: max(stamp, created), Stamp: stamp, Stamped: true}
	}
	moment := max(firstSeen, created)
	if _, seen := job.Labels[policies.LabelState]; seen {
		moment = created + int64(time.Second) - 1
	}
	return demand.Arrival{Effective: moment, Stamp: moment}
}

func nanoseconds(t metav1.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// Held by the owner: the annotation is there and does not say false, so that an
// empty value holds too.
func Held(annotations map[string]string) bool {
	value, ok := annotations[policies.AnnotationHold]
	return ok && value != "false"
}

// bypass needs a reason, not only the key.
func bypass(job *batchv1.Job) bool {
	return strings.TrimSpace(job.Annotations[policies.AnnotationBypass]) != ""
}
