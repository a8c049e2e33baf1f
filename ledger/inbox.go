package ledger

import (
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/ledger/effect"
	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/rollout"
)

// inbox collects what happened since the last round, the newest state of each
// object only. Watches and writers put, the loop takes: they only mark, it
// works at its own tempo.
type inbox struct {
	mu   sync.Mutex
	next batch
	wake chan struct{} // holds one token while there is something to take
}

// batch is what changed; a nil value means the object is gone.
type batch struct {
	jobs            map[types.UID]*batchv1.Job
	last            map[types.UID]*batchv1.Job // what Jobs were when they went
	pods            map[types.UID]podChange
	nodes           map[string]*corev1.Node
	namespaces      map[string]*corev1.Namespace
	limitRanges     map[types.NamespacedName]*corev1.LimitRange
	resourceQuotas  map[types.NamespacedName]*corev1.ResourceQuota
	runtimeClasses  map[string]*nodev1.RuntimeClass
	priorityClasses map[string]*schedulingv1.PriorityClass
	queues          map[string]*v1alpha1.Queue
	devices         deviceNews
	volumes         volumeNews
	written         []written
	queueWritten    []queueWritten
	asked           []chan<- []rollout.Live
	pictures        []chan<- picture
	audited         *[]string                   // how the book's sums were off; nil: nobody looked
	starts          map[string][]estimate.Start // worked out anew, of every queue; nil: not
}

// podChange is a pod's newest state, or its last one if it is gone.
type podChange struct {
	pod  *corev1.Pod
	gone bool
}

// written is the end of a write that a worker made for the loop.
type written struct {
	uid     types.UID
	outcome apply.Outcome
	admit   *effect.Admit   // at most one of the three is set
	suspend *effect.Suspend //
	explain *effect.Explain //
}

func newInbox() *inbox {
	return &inbox{next: newBatch(), wake: make(chan struct{}, 1)}
}

func newBatch() batch {
	return batch{
		jobs:            map[types.UID]*batchv1.Job{},
		last:            map[types.UID]*batchv1.Job{},
		pods:            map[types.UID]podChange{},
		nodes:           map[string]*corev1.Node{},
		namespaces:      map[string]*corev1.Namespace{},
		limitRanges:     map[types.NamespacedName]*corev1.LimitRange{},
		resourceQuotas:  map[types.NamespacedName]*corev1.ResourceQuota{},
		runtimeClasses:  map[string]*nodev1.RuntimeClass{},
		priorityClasses: map[string]*schedulingv1.PriorityClass{},
		queues:          map[string]*v1alpha1.Queue{},
		devices:         newDeviceNews(),
		volumes:         newVolumeNews(),
	}
}

// put records a change and wakes the loop.
func (i *inbox) put(change func(*batch)) {
	i.mu.Lock()
	change(&i.next)
	i.mu.Unlock()
	select {
	case i.wake <- struct{}{}:
	default: // awake already
	}
}

// take returns everything since the last take.
func (i *inbox) take() batch {
	i.mu.Lock()
	defer i.mu.Unlock()
	taken := i.next
	i.next = newBatch()
	return taken
}
