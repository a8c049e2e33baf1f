package command

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
)

// gather reads what helps to explain a Job. What it may not read it names: the
// Job alone already tells most.
func gather(ctx context.Context, client *cluster.Client, job *batchv1.Job) report.Evidence {
	e := report.Evidence{Job: job}
	unread := func(err error) {
		if err != nil {
			e.Unread = append(e.Unread, err.Error())
		}
	}
	row := report.NewJob(job, nil)
	if row.Queue != "" && row.Queue != cluster.AutoQueue {
		queue, err := client.Queue(ctx, row.Queue)
		unread(err)
		e.Queue = queue
	}
	switch {
	case !row.Waits():
		pods, err := client.Pods(ctx, row.Namespace, row.UID)
		unread(err)
		e.Pods = pods
	case e.Queue != nil && row.WaitsForShare(): // else there is nothing to compare others with
		unread(gatherQueue(ctx, client, row, &e))
	}
	unread(gatherRoom(ctx, client, row, &e))
	list, err := client.Events(ctx, row.Namespace, row.UID)
	unread(err)
	e.Events = list
	return e
}

// gatherQueue reads who else is in the queue: in all namespaces if that is
// allowed, else in the Job's own.
func gatherQueue(ctx context.Context, client *cluster.Client, row report.Job, e *report.Evidence) error {
	e.Everywhere = true
	namespace := "" // all of them
	list, err := client.QueueJobs(ctx, namespace, row.Queue)
	if err != nil {
		e.Everywhere, namespace = false, row.Namespace
		if list, err = client.QueueJobs(ctx, namespace, row.Queue); err != nil {
			return err
		}
	}
	e.Neighbours = list.Items
	if e.Pods, err = client.QueuePods(ctx, namespace, row.Queue); err != nil && e.Everywhere {
		e.Everywhere, namespace = false, row.Namespace
		e.Pods, err = client.QueuePods(ctx, namespace, row.Queue)
	}
	if err != nil {
		return err
	}
	// Pods have the queue on them by an admission only. Those of Jobs that were
	// started past it are found by their Job.
	uids := withLoosePods(e.Neighbours, namespace)
	if len(uids) == 0 {
		return nil
	}
	loose, err := client.Pods(ctx, namespace, uids...)
	e.Pods = append(e.Pods, loose...)
	return err
}

// gatherRoom reads the Jobs that make room for this one, and the one that it made
// room for: only UIDs are written on a Job, since not everybody who reads it may know
// the other's name.
func gatherRoom(ctx context.Context, client *cluster.Client, row report.Job, e *report.Evidence) error {
	by := report.WhomItGaveWay(e.Job)
	if by == "" && !row.AwaitsRoom() {
		return nil
	}
	own, err := client.Jobs(ctx, row.Namespace, "")
	if err != nil {
		return err
	}
	e.Others = own.Items
	isBy := func(job batchv1.Job) bool { return string(job.UID) == by }
	if !row.AwaitsRoom() && slices.ContainsFunc(own.Items, isBy) {
		return nil
	}
	all, err := client.Jobs(ctx, "", "")
	if err != nil {
		return err // those of other namespaces are missing
	}
	e.Others, e.OthersEverywhere = all.Items, true
	return nil
}

// withLoosePods is the Jobs whose pods hold something beside reservations; not
// too many, as they are named in one request.
func withLoosePods(jobs []batchv1.Job, namespace string) []string {
	const most = 50
	var uids []string
	for i := range jobs {
		status := jobs[i].Status
		live := status.Active > 0 || status.Terminating != nil && *status.Terminating > 0
		here := namespace == "" || jobs[i].Namespace == namespace
		if live && here && len(uids) < most && report.NewJob(&jobs[i], nil).State != report.StateAdmitted {
			uids = append(uids, string(jobs[i].UID))
		}
	}
	return uids
}
