package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// Path of the handler on the webhook server; the chart's configuration says the
// same.
const Path = "/webhook/jobs"

// deadline of one request. The API server waits a second longer: an answer in
// time, with a warning that the policy was too slow, beats none. Its own timeout
// does not reach the request's context.
const deadline = 2 * time.Second

// Policy is the revision in force, as far as it is asked here.
type Policy interface {
	Mutate(context.Context, *policies.Input) (policies.Mutation, error)
	// Deny and Warn are asked about the Job as it is; given is it with what another
	// policy gives it, nil if it keeps what it has.
	Deny(ctx context.Context, in *policies.Input, given policies.Given) ([]policies.Reason, error)
	Warn(ctx context.Context, in *policies.Input, given policies.Given) ([]policies.Reason, error)
	// ReadsJob tells whether a rule reads the raw object.
	ReadsJob() bool
}

// Options of the handler. All are required.
type Options struct {
	// Policy returns the revision in force, nil while there is none.
	Policy func() Policy
	// Namespace looks a namespace up in a cache; false if it is not there (yet).
	Namespace func(name string) (policies.Namespace, bool)
	// Env is what intake needs to know of a namespace to count a Job in it.
	Env func(namespace string) intake.Env
	// Yield waits while others go first, before a creation goes on. It is short.
	Yield func(context.Context)
	// Scope is where Jobs are managed.
	Scope intake.Scope
	// LedgerUser is the ledger's own name, whose writes are never touched.
	LedgerUser string
	Now        func() time.Time
}

// Jobs answers the API server about Jobs that are created or updated.
type Jobs struct {
	options Options
	stamps  *stamps
}

var _ admission.Handler = (*Jobs)(nil)

// NewJobs makes the handler.
func NewJobs(options Options) *Jobs {
	return &Jobs{options: options, stamps: newStamps(options.Now)}
}

// Handle answers one request.
func (j *Jobs) Handle(ctx context.Context, req admission.Request) admission.Response {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if req.UserInfo.Username == j.options.LedgerUser || req.SubResource != "" {
		return admission.Allowed("")
	}
	switch req.Operation {
	case admissionv1.Create:
		return j.create(ctx, req)
	case admissionv1.Update:
		return j.update(ctx, req)
	}
	return admission.Allowed("")
}

// create suspends the Job, stamps it and asks the policy.
func (j *Jobs) create(ctx context.Context, req admission.Request) admission.Response {
	doc, job, err := parse(req.Object.Raw)
	if err != nil {
		// Unread means unsuspended: whatever the failure policy says, this is a no.
		return admission.Errored(http.StatusBadRequest, err)
	}
	if !j.managed(job, req.Namespace) {
		return admission.Allowed("")
	}
	if req.DryRun == nil || !*req.DryRun {
		j.options.Yield(ctx)
	}
	doc.set(true, "spec", "suspend")
	j.enter(doc, nil, req)
	s, err := j.mutate(ctx, doc, subject{request: req, warnings: misspelt(job)})
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return j.judge(ctx, doc, s)
}

// update does not touch what is being deleted, nor what was not and is not ours.
func (j *Jobs) update(ctx context.Context, req admission.Request) admission.Response {
	doc, job, err := parse(req.Object.Raw)
	if err != nil {
		return unread(err)
	}
	oldDoc, old, err := parse(req.OldObject.Raw)
	if err != nil {
		return unread(err)
	}
	is, was := j.managed(job, req.Namespace), j.managed(old, req.Namespace)
	if old.DeletionTimestamp != nil || !is && !was {
		return admission.Allowed("")
	}
	bypassing := passes(old, job)
	s := subject{request: req, old: old, enters: !was}
	switch {
	case !is:
		leave(doc, old)
		return patched(doc, nil)
	case !was:
		j.enter(doc, old, req)
		s.warnings = misspelt(job)
	case !bypassing:
		if s.warnings, err = putBack(doc, oldDoc, old); err != nil {
			return unread(err)
		}
	}
	if bypassing || collects(req) {
		if s.enters {
			doc.remove("metadata", "annotations", policies.AnnotationMutated)
		}
		return patched(doc, nil)
	}
	return j.changed(ctx, doc, s)
}

// changed asks the policy about a Job that enters a queue, or is not any more what
// it was asked about.
func (j *Jobs) changed(ctx context.Context, doc *document, s subject) admission.Response {
	var err error
	switch {
	case s.enters && mutable(s.old):
		s, err = j.mutate(ctx, doc, s)
	case s.enters:
		doc.remove("metadata", "annotations", policies.AnnotationMutated)
		s.job, err = doc.job()
	default:
		s.job, err = doc.job()
	}
	switch {
	case err != nil:
		return unread(err)
	case !s.enters && !asksAgain(s.old, s.job):
		return patched(doc, s.warnings)
	}
	return j.judge(ctx, doc, s)
}

// mutable: the API server takes no other template of a Job that has started, and
// one that is over is given nothing any more. The ledger asks mutate again before
// anything starts.
func mutable(old *batchv1.Job) bool { return old.Status.StartTime == nil && !intake.Finished(old) }

// managed says whether the Job is ours. The API server asks only about
// namespaces that are; where the cache does not know one yet, it is believed.
func (j *Jobs) managed(job *batchv1.Job, namespace string) bool {
	ns, known := j.options.Namespace(namespace)
	scope := j.options.Scope
	if !known {
		ns, scope.ManagedNamespaces = policies.Namespace{Name: namespace}, nil
	}
	return intake.Managed(job, ns, scope)
}

func parse(raw []byte) (*document, *batchv1.Job, error) {
	doc, err := parseDocument(raw)
	if err != nil {
		return nil, nil, err
	}
	job := &batchv1.Job{}
	if err := json.Unmarshal(raw, job); err != nil {
		return nil, nil, fmt.Errorf("reading the Job: %w", err)
	}
	return doc, job, nil
}

// unread lets an update pass that cannot be understood: the validating policy
// guards it, and nothing may hang on us.
func unread(err error) admission.Response {
	return admission.Allowed("").WithWarnings(warning("this update was not checked: " + err.Error()))
}

func patched(doc *document, warnings []string) admission.Response {
	response := admission.Allowed("").WithWarnings(warnings...)
	response.Patches = doc.ops
	return response
}
