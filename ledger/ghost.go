package ledger

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// observePod books what a pod holds: until its object is gone or it is terminal,
// and a while longer if it was deleted by force under a running container.
func (l *Loop) observePod(uid types.UID, change podChange, news map[types.UID]*batchv1.Job) {
	seen := intake.Pod(change.pod, l.perDevice) // nil for a terminal pod: it holds nothing
	_, gone := l.ghosts[uid]                    // read again, for its claims
	gone = gone || change.gone
	if seen != nil && l.DRA.Claims {
		l.devices.ofPod(seen, change.pod, gone)
	}
	l.volumes.mountedBy(change.pod, seen != nil && seen.Node != "" && !gone)
	switch {
	case seen == nil, change.gone && !ghost(seen):
		delete(l.ghosts, uid)
		l.dropPod(uid)
	case change.gone:
		l.ghosts[uid] = l.Now().Add(ghostStands)
	default:
		job := news[types.UID(seen.JobUID)]
		if t := l.jobs[types.UID(seen.JobUID)]; job == nil && t != nil {
			job = t.raw
		}
		if job != nil && job.Namespace != seen.Namespace {
			seen.JobUID = "" // an owner elsewhere is none: garbage collection will take the pod
		}
		l.book.SetPod(seen)
	}
}

// ghost: the pod went without its kubelet having ended it (that leaves a terminal phase),
// and it had a device, which another pod would be given at once. A kubelet gives devices
// out when it takes a pod in, before any container runs. What shares a machine by time or
// by bytes does not refuse to start.
func ghost(pod *supply.Pod) bool {
	if pod.Node == "" || !pod.Started {
		return false
	}
	for name := range pod.Requests {
		if resource.IsDevice(name) {
			return true
		}
	}
	return false
}

// dropGhosts gives the devices of ghosts back when they stood long enough.
func (l *Loop) dropGhosts() {
	for uid, till := range l.ghosts {
		if !l.Now().Before(till) {
			delete(l.ghosts, uid)
			l.dropPod(uid)
		}
	}
}

func (l *Loop) dropPod(uid types.UID) {
	l.book.DeletePod(string(uid))
	l.devices.forget(uid)
}
