package command

import (
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

// board is what a watch of Jobs knows, so that it shows rows that changed, be it
// by the Job or by its place in the queue.
type board struct {
	mu     sync.Mutex
	jobs   map[string]batchv1.Job // by UID
	queues map[string]*v1alpha1.Queue
	shown  map[string]bool // UIDs that have been in the list
	said   news
	wants  func(report.Job) bool
	trim   func(report.JobList) report.JobList
	print  func(report.JobList) error
}

func newBoard(jobs []batchv1.Job, queues map[string]*v1alpha1.Queue, show func(report.JobList) error) *board {
	b := &board{
		jobs: map[string]batchv1.Job{}, queues: queues, shown: map[string]bool{}, said: news{},
		wants: func(report.Job) bool { return true }, trim: func(list report.JobList) report.JobList { return list }, print: show,
	}
	for _, job := range jobs {
		b.jobs[string(job.UID)] = job
	}
	return b
}

func (b *board) jobChanged(object runtime.Object, deleted bool) error {
	job, ok := object.(*batchv1.Job)
	if !ok {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs[string(job.UID)] = *job
	err := b.show([]batchv1.Job{*job}, deleted)
	if deleted {
		delete(b.jobs, string(job.UID))
		delete(b.said, string(job.UID))
		delete(b.shown, string(job.UID))
	}
	return err
}

// queueChanged shows the Jobs that came to the head of the queue or left it.
func (b *board) queueChanged(object runtime.Object, deleted bool) error {
	queue, ok := object.(*v1alpha1.Queue)
	if !ok {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var concerned []batchv1.Job
	before, after := headOf(b.queues[queue.Name]), headOf(queue)
	for _, job := range b.jobs {
		key := [2]string{job.Namespace, job.Name}
		if (key == before) != (key == after) || report.StartChanged(string(job.UID), b.queues[queue.Name], queue) {
			concerned = append(concerned, job)
		}
	}
	b.queues[queue.Name] = queue
	if deleted {
		delete(b.queues, queue.Name)
	}
	return b.show(concerned, false)
}

func headOf(queue *v1alpha1.Queue) [2]string {
	if queue == nil || queue.Status.Head == nil {
		return [2]string{}
	}
	return [2]string{queue.Status.Head.Namespace, queue.Status.Head.Name}
}

// forgetQueues: no position is better than one that may be wrong.
func (b *board) forgetQueues() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queues = nil
}

// show prints the rows that are asked for. A Job that was in the list is shown
// once more when it leaves it, so that it does not seem to be there still.
func (b *board) show(jobs []batchv1.Job, deleted bool) error {
	rows := b.trim(report.Jobs(jobs, b.queues))
	kept := rows.Items[:0]
	for _, row := range rows.Items {
		row.Deleted = deleted
		wanted := b.wants(row)
		if (wanted || b.shown[row.UID]) && b.said.news(row.UID, row) {
			kept = append(kept, row)
		}
		b.shown[row.UID] = wanted
	}
	rows.Items = kept
	return b.print(rows)
}
