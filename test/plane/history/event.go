package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Change is what happened to an object.
type Change string

// What can happen.
const (
	Existed Change = "existed" // before the recording began
	Added   Change = "added"
	Changed Change = "changed"
	Deleted Change = "deleted"
	Missed  Change = "missed" // nobody knows what: the watch lost its place
)

// Event is one version of one object. One of Job, Pod and Node is set, none if
// something was missed.
type Event struct {
	Version int64 // resourceVersion; of the deletion, if it is one
	Change  Change
	Job     *batchv1.Job
	Pod     *corev1.Pod
	Node    *corev1.Node
	Problem string // of a Missed one
}

// newEvent wraps an object and drops what nobody judges.
func newEvent(change Change, object runtime.Object) (Event, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return Event{}, fmt.Errorf("reading a recorded object: %w", err)
	}
	accessor.SetManagedFields(nil)
	version, err := strconv.ParseInt(accessor.GetResourceVersion(), 10, 64)
	if err != nil {
		return Event{}, fmt.Errorf("the resourceVersion of %s: %w", accessor.GetName(), err)
	}
	e := Event{Version: version, Change: change}
	switch object := object.(type) {
	case *batchv1.Job:
		e.Job = object
	case *corev1.Pod:
		e.Pod = object
	case *corev1.Node:
		e.Node = object
	default:
		return Event{}, fmt.Errorf("recording a %T, which nothing judges", object)
	}
	return e, nil
}

// about names the kind of its object, as a resource, and the object.
func (e Event) about() (kind string, uid types.UID) {
	switch {
	case e.Job != nil:
		return "jobs", e.Job.UID
	case e.Pod != nil:
		return "pods", e.Pod.UID
	case e.Node != nil:
		return "nodes", e.Node.UID
	}
	return "", ""
}

// sortEvents puts events of several watches into the order of their writes.
func sortEvents(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.Version, b.Version) })
}
