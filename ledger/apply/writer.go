package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/effect"
)

// FieldManager of every write of the ledger.
const FieldManager = "holdshort-ledger"

// Status says how a write ended.
type Status int

// The ways a write ends.
const (
	Done    Status = iota // written; Outcome.Job is the new object
	Moved                 // not written: the object changed or is gone; decide again
	Refused               // not written: the API server will not have it
	Unknown               // nobody knows: it may have been written
)

// Outcome of one write. Job is the newest object that is known, nil if it is
// gone or could not be read.
type Outcome struct {
	Status Status
	Job    *batchv1.Job
	Err    error
}

// Writer writes effects on Jobs.
type Writer struct {
	// Client reads and writes past any cache.
	Client client.Client
	// Retry is the first pause after an error that may pass; it doubles, up to
	// RetryMax. Zeros mean 100 ms and 5 s.
	Retry, RetryMax time.Duration
}

// immutableTries bounds how often a patch is sent again that was refused since
// the Job controller has not yet marked the Job suspended.
const immutableTries = 6

// failingTries bounds how often a write is tried that the API server answers with
// an error of its own: such an answer is certain, as no answer is not, and
// whatever is wrong with this object must not keep a writer from the others.
const failingTries = 3

// Admit writes an admission.
func (w *Writer) Admit(ctx context.Context, job *batchv1.Job, admit effect.Admit) Outcome {
	patch, err := AdmitPatch(job, admit)
	if err != nil {
		return Outcome{Status: Refused, Job: job, Err: err}
	}
	return w.patch(ctx, job, patch, "")
}

// Started tells whether a suspended Job still counts as started, so that its
// template is immutable: before 1.36 the Job controller leaves status.startTime
// behind when it has seen a suspension.
func Started(job *batchv1.Job) bool {
	return job.Spec.Suspend != nil && *job.Spec.Suspend && job.Status.StartTime != nil && job.Status.Active == 0 &&
		slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue
		})
}

// Unstart takes back that a suspended Job has started, as newer Job controllers
// do themselves.
func (w *Writer) Unstart(ctx context.Context, job *batchv1.Job) Outcome {
	return w.patch(ctx, job, UnstartPatch(job), "status")
}

// Suspend writes a taking back.
func (w *Writer) Suspend(ctx context.Context, job *batchv1.Job, suspend effect.Suspend) Outcome {
	patch, err := SuspendPatch(job, suspend)
	if err != nil {
		return Outcome{Status: Refused, Job: job, Err: err}
	}
	return w.patch(ctx, job, patch, "")
}

// Explain writes why a Job waits.
func (w *Writer) Explain(ctx context.Context, job *batchv1.Job, explain effect.Explain) Outcome {
	patch, err := ExplainPatch(job, explain)
	if err != nil {
		return Outcome{Status: Refused, Job: job, Err: err}
	}
	return w.patch(ctx, job, patch, "")
}

// patch sends one merge patch, to a subresource if one is named, until its
// outcome is known or ctx ends.
func (w *Writer) patch(ctx context.Context, job *batchv1.Job, patch []byte, subresource string) Outcome {
	pause := w.pauses()
	for try := 1; ; try++ {
		written := &batchv1.Job{}
		written.Namespace, written.Name = job.Namespace, job.Name
		err := w.send(ctx, written, client.RawPatch(types.MergePatchType, patch), subresource)
		switch {
		case err == nil:
			return Outcome{Status: Done, Job: written}
		case apierrors.IsNotFound(err):
			return Outcome{Status: Moved, Err: err}
		case apierrors.IsConflict(err):
			return w.reread(ctx, job, err)
		case immutable(err) && try < immutableTries:
			// A suspended Job's template may be changed only once the Job
			// controller has seen the suspension; it will within moments.
		case refused(err):
			return Outcome{Status: Refused, Job: job, Err: err}
		}
		if !pause(ctx) {
			return Outcome{Status: Unknown, Err: fmt.Errorf("writing %s/%s: %w", job.Namespace, job.Name, err)}
		}
		if outcome, known := w.compare(ctx, job, err); known {
			return outcome
		}
		if failing(err) && try >= failingTries {
			return Outcome{Status: Refused, Job: job, Err: err}
		}
	}
}

func (w *Writer) send(ctx context.Context, job *batchv1.Job, patch client.Patch, subresource string) error {
	if subresource == "" {
		return w.Client.Patch(ctx, job, patch, client.FieldOwner(FieldManager))
	}
	return w.Client.SubResource(subresource).Patch(ctx, job, patch, client.FieldOwner(FieldManager))
}

// compare reads the Job again after an unclear answer. As long as it is the
// object that the patch was made for, the patch may be sent again.
func (w *Writer) compare(ctx context.Context, job *batchv1.Job, cause error) (Outcome, bool) {
	outcome := w.reread(ctx, job, cause)
	if outcome.Status == Unknown {
		return outcome, ctx.Err() != nil
	}
	return outcome, outcome.Job == nil || outcome.Job.ResourceVersion != job.ResourceVersion
}

// Reread finds out what became of a Job after an Unknown outcome.
func (w *Writer) Reread(ctx context.Context, job *batchv1.Job) Outcome {
	pause := w.pauses()
	for {
		outcome := w.reread(ctx, job, nil)
		if outcome.Status != Unknown || !pause(ctx) {
			return outcome
		}
	}
}

// reread gets the newest object; one with another UID is another Job.
func (w *Writer) reread(ctx context.Context, job *batchv1.Job, cause error) Outcome {
	now := &batchv1.Job{}
	err := w.Client.Get(ctx, client.ObjectKeyFromObject(job), now)
	switch {
	case apierrors.IsNotFound(err), err == nil && now.UID != job.UID:
		return Outcome{Status: Moved, Err: cause}
	case err != nil:
		return Outcome{Status: Unknown, Err: err}
	}
	return Outcome{Status: Moved, Job: now, Err: cause}
}

// refused tells the answers that stay the same however often one asks.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsUnauthorized(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
}

// immutable tells that the pod template may not be changed, now or ever.
func immutable(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return strings.HasPrefix(c.Field, "spec.template")
	})
}

// failing tells an answer of the API server that it could not do it: an object
// that etcd finds too big, or somebody's webhook that is broken. Where etcd did not
// answer it, or lost its leader, the same answer says nothing: it may still be written.
func failing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusInternalServerError {
		return false
	}
	for _, unclear := range []string{"etcdserver: request timed out", "etcdserver: leader changed", "etcdserver: server stopped"} {
		if strings.Contains(status.Status().Message, unclear) {
			return false
		}
	}
	why := status.Status().Reason
	return why == metav1.StatusReasonInternalError || why == metav1.StatusReasonUnknown
}

// pauses returns a function that waits a little longer each time it is called,
// and tells whether to go on.
func (w *Writer) pauses() func(context.Context) bool {
	next, longest := w.Retry, w.RetryMax
	if next == 0 {
		next = 100 * time.Millisecond
	}
	if longest == 0 {
		longest = 5 * time.Second
	}
	return func(ctx context.Context) bool {
		timer := time.NewTimer(next)
		defer timer.Stop()
		next = min(2*next, longest)
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		}
	}
}
