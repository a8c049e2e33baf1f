package report

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
)

// GaveWay is for whom a Job was taken back. Namespace, name, queue and state are
// there only if the other could be read.
type GaveWay struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	Queue     string    `json:"queue,omitempty"`
	State     string    `json:"state,omitempty"`
	Right     string    `json:"right"` // that lets the other have its place
	Since     time.Time `json:"since"`
	// Gone: all Jobs could be read, and it is not among them.
	Gone bool `json:"gone,omitempty"`
}

// RoomFrom is a Job that was taken back for another, and that still has pods.
type RoomFrom struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Queue     string    `json:"queue"`
	Pods      int64     `json:"pods"` // not gone yet
	Right     string    `json:"right"`
	Since     time.Time `json:"since"`
}

// AwaitsRoom tells whether others may have been taken back for the Job that are not
// gone. Where their machine died meanwhile, it waits for machines.
func (j Job) AwaitsRoom() bool {
	code := reason.Code(j.Code)
	return j.Waits() && (code == reason.MakingRoom || code == reason.WaitingForMachines)
}

// WhomItGaveWay is the UID of the Job that a waiting one was taken back for; empty
// if it was not.
func WhomItGaveWay(job *batchv1.Job) string {
	row, d := newJob(job, nil)
	if !row.Waits() || d.Preempted == nil {
		return ""
	}
	return d.Preempted.By
}

// room fills in for whom the Job was taken back, and who makes room for it.
func (x *JobExplanation) room(d *demand.Job, e Evidence) {
	if p := d.Preempted; p != nil {
		x.GaveWay = &GaveWay{Right: string(p.Right), Since: time.Unix(0, p.Time).UTC(), Gone: e.OthersEverywhere}
		for i := range e.Others {
			if string(e.Others[i].UID) == p.By {
				by := NewJob(&e.Others[i], nil)
				x.GaveWay.Namespace, x.GaveWay.Name, x.GaveWay.Queue, x.GaveWay.State = by.Namespace, by.Name, by.Queue, by.State
				x.GaveWay.Gone = false
			}
		}
	}
	if !x.AwaitsRoom() {
		return
	}
	for i := range e.Others {
		other := intake.Job(&e.Others[i], blind())
		if p := other.Preempted; p != nil && p.By == x.UID && other.Active+other.Terminating > 0 {
			x.RoomFrom = append(x.RoomFrom, RoomFrom{
				Namespace: other.Namespace, Name: other.Name, Queue: queueOf(other), Pods: other.Active + other.Terminating,
				Right: string(p.Right), Since: time.Unix(0, p.Time).UTC(),
			})
		}
	}
	slices.SortFunc(x.RoomFrom, func(a, b RoomFrom) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
