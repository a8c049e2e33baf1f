package apply_test

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/policies"
)

var jobs = schema.GroupResource{Group: "batch", Resource: "jobs"}

// answers is an API server whose answers to the first patches are scripted; a
// nil answer, and every later patch, is carried out.
type answers struct {
	script []error
	// lose: the patch is carried out before the scripted error is answered.
	lose    bool
	patches int
}

func (a *answers) client(t *testing.T, stored *batchv1.Job) client.Client {
	t.Helper()
	server := fake.NewClientBuilder().WithObjects(stored).Build()
	return interceptor.NewClient(server, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			a.patches++
			var scripted error
			if a.patches <= len(a.script) {
				scripted = a.script[a.patches-1]
			}
			if scripted != nil && !a.lose {
				return scripted
			}
			if err := c.Patch(ctx, obj, patch, opts...); err != nil {
				return err
			}
			return scripted
		},
	})
}

func TestHowAnAdmissionEnds(t *testing.T) {
	kind := schema.GroupKind{Group: "batch", Kind: "Job"}
	invalid := apierrors.NewInvalid(kind, "train", field.ErrorList{field.Invalid(field.NewPath("spec", "template"), "…", "field is immutable")})
	full := apierrors.NewInvalid(kind, "train", field.ErrorList{field.TooLong(field.NewPath("metadata", "annotations"), "", 262144)})
	huge := apierrors.NewGenericServerResponse(500, "patch", jobs, "train", "etcdserver: request is too large", 0, true)
	broken := apierrors.NewInternalError(errors.New("failed calling webhook"))
	unsure := apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	timeout := apierrors.NewTimeoutError("the answer is late", 1)
	cases := []struct {
		name     string
		answers  answers
		stored   func(*batchv1.Job)
		want     apply.Status
		admitted bool // the newest object carries the reservation
		patches  int
	}{
		{name: "written at once", want: apply.Done, admitted: true, patches: 1},
		{name: "a conflict is not forced, the newest object is brought back", answers: answers{script: []error{apierrors.NewConflict(jobs, "train", errors.New("moved"))}}, want: apply.Moved, patches: 1},
		{name: "not yet mutable is tried again", answers: answers{script: []error{invalid, invalid}}, want: apply.Done, admitted: true, patches: 3},
		{name: "never mutable is refused in the end", answers: answers{script: []error{invalid, invalid, invalid, invalid, invalid, invalid}}, want: apply.Refused, patches: 6},
		{name: "what can never be written is refused at once", answers: answers{script: []error{full}}, want: apply.Refused, patches: 1},
		{name: "what the API server fails at again and again is refused", answers: answers{script: []error{broken, broken, broken}}, want: apply.Refused, patches: 3},
		{name: "so is what etcd finds too big", answers: answers{script: []error{huge, huge, huge}}, want: apply.Refused, patches: 3},
		{name: "what it fails at and has written all the same is written", answers: answers{script: []error{broken}, lose: true}, want: apply.Moved, admitted: true, patches: 1},
		{name: "what etcd did not answer for may have been written, and is asked about again", answers: answers{script: []error{unsure, unsure, unsure, unsure}}, want: apply.Done, admitted: true, patches: 5},
		{name: "forbidden is refused at once", answers: answers{script: []error{apierrors.NewForbidden(jobs, "train", errors.New("no"))}}, want: apply.Refused, patches: 1},
		{name: "a server that is busy is asked again", answers: answers{script: []error{apierrors.NewTooManyRequests("busy", 0)}}, want: apply.Done, admitted: true, patches: 2},
		{name: "a lost answer is found out by reading", answers: answers{script: []error{timeout}, lose: true}, want: apply.Moved, admitted: true, patches: 1},
		{name: "another Job of the same name is left alone", stored: func(j *batchv1.Job) { j.UID = "u2" }, answers: answers{script: []error{timeout}}, want: apply.Moved, patches: 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			stored := userJob()
			if c.stored != nil {
				c.stored(stored)
			}
			server := c.answers.client(t, stored)
			decidedOn := userJob()
			if err := server.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
				t.Fatal(err)
			}
			decidedOn.ResourceVersion = stored.ResourceVersion
			writer := apply.Writer{Client: server, Retry: time.Millisecond, RetryMax: time.Millisecond}
			outcome := writer.Admit(t.Context(), decidedOn, admission("h100"))
			if outcome.Status != c.want {
				t.Fatalf("it ends as %v (%v), want %v", outcome.Status, outcome.Err, c.want)
			}
			admitted := outcome.Job != nil && outcome.Job.Annotations[policies.AnnotationReservation] != ""
			if admitted != c.admitted {
				t.Errorf("the newest object is %v, admitted %v, want %v", outcome.Job, admitted, c.admitted)
			}
			if c.answers.patches != c.patches {
				t.Errorf("%d patches were sent, want %d", c.answers.patches, c.patches)
			}
		})
	}
}

func TestAnAnswerThatNeverComesIsUnknownAndIsFoundOutLater(t *testing.T) {
	late := apierrors.NewTimeoutError("the answer is late", 1)
	script := make([]error, 1000)
	for i := range script {
		script[i] = late
	}
	stored := userJob()
	server := (&answers{script: script}).client(t, stored)
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	writer := apply.Writer{Client: server, Retry: time.Millisecond, RetryMax: time.Millisecond}
	if outcome := writer.Admit(ctx, stored, admission("h100")); outcome.Status != apply.Unknown {
		t.Fatalf("it ends as %v, want Unknown", outcome.Status)
	}
	outcome := writer.Reread(t.Context(), stored)
	if outcome.Status != apply.Moved || outcome.Job == nil || outcome.Job.Annotations[policies.AnnotationReservation] != "" {
		t.Errorf("read again, it is %v %v, want the Job without a reservation", outcome.Status, outcome.Job)
	}
}
