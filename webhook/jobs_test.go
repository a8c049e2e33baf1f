package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/webhook"
)

const (
	ledgerUser = "system:serviceaccount:holdshort-system:holdshort"
	noon       = int64(1_800_000_000_000_000_000)
)

// fakePolicy answers what it was told to, and remembers what it was asked.
type fakePolicy struct {
	deny, warn func(*policies.Input) ([]policies.Reason, error)
	mutate     func(*policies.Input) (policies.Mutation, error)
	asked      []*policies.Input
	given      []policies.Given // of what deny was asked
}

func (p *fakePolicy) Mutate(_ context.Context, in *policies.Input) (policies.Mutation, error) {
	if p.mutate == nil {
		return policies.Mutation{}, nil
	}
	return p.mutate(in)
}

func (p *fakePolicy) Deny(_ context.Context, in *policies.Input, given policies.Given) ([]policies.Reason, error) {
	p.asked, p.given = append(p.asked, in), append(p.given, given)
	if p.deny == nil {
		return nil, nil
	}
	return p.deny(in)
}

func (p *fakePolicy) Warn(_ context.Context, in *policies.Input, _ policies.Given) ([]policies.Reason, error) {
	if p.warn == nil {
		return nil, nil
	}
	return p.warn(in)
}

func (p *fakePolicy) ReadsJob() bool { return true }

func handler(policy webhook.Policy) *webhook.Jobs { return webhook.NewJobs(options(policy)) }

func options(policy webhook.Policy) webhook.Options {
	return webhook.Options{
		Policy: func() webhook.Policy { return policy },
		Namespace: func(name string) (policies.Namespace, bool) {
			return policies.Namespace{Name: name, Labels: map[string]string{"team": "nlp"}}, name != "new"
		},
		Env:        func(string) intake.Env { return intake.Env{} },
		Yield:      func(context.Context) {},
		Scope:      intake.Scope{OwnNamespace: "holdshort-system"},
		LedgerUser: ledgerUser,
		Now:        func() time.Time { return time.Unix(0, noon) },
	}
}

// request builds an admission request from YAML; no old object means CREATE.
func request(t *testing.T, job, old string) admission.Request {
	t.Helper()
	raw := func(text string) runtime.RawExtension {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: data}
	}
	r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "1", Namespace: "research", Operation: admissionv1.Create, Object: raw(job),
		UserInfo: authenticationv1.UserInfo{Username: "alice", Groups: []string{"devs"}},
	}}
	if old != "" {
		r.Operation, r.OldObject = admissionv1.Update, raw(old)
	}
	return r
}

// apply returns the object as the API server would go on with it, as YAML.
func apply(t *testing.T, req admission.Request, response admission.Response) string {
	t.Helper()
	if !response.Allowed {
		t.Fatalf("refused: %s", response.Result.Message)
	}
	out := req.Object.Raw
	if len(response.Patches) > 0 {
		ops, err := json.Marshal(response.Patches)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(ops)
		if err != nil {
			t.Fatal(err)
		}
		if out, err = patch.Apply(out); err != nil {
			t.Fatalf("the API server cannot apply %s: %v", ops, err)
		}
	}
	text, err := yaml.JSONToYAML(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// normal writes YAML in the form that apply returns.
func normal(t *testing.T, text string) string {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := yaml.JSONToYAML(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const stamp = "1800000000000000000"

func TestCreate(t *testing.T) {
	for _, c := range []struct{ name, job, want string }{
		{
			name: "a labelled Job is suspended and stamped",
			job:  `{metadata: {name: a, labels: {holdshort.dev/queue: q}}, spec: {template: {}}}`,
			want: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q, holdshort.dev/state: queued}
  annotations: {holdshort.dev/arrival: "` + stamp + `", holdshort.dev/user: alice}
spec: {suspend: true, template: {}}`,
		},
		{
			name: "a Job that is suspended already keeps its other fields, also those that nobody knows",
			job:  `{metadata: {generateName: a-, labels: {holdshort.dev/queue: q}}, spec: {suspend: true, fromTheFuture: 9007199254740993, template: {}}}`,
			want: `
metadata:
  generateName: a-
  labels: {holdshort.dev/queue: q, holdshort.dev/state: queued}
  annotations: {holdshort.dev/arrival: "` + stamp + `", holdshort.dev/user: alice}
spec: {suspend: true, fromTheFuture: 9007199254740993, template: {}}`,
		},
		{
			name: "what only the ledger writes is taken out, what is the user's stays",
			job: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q, holdshort.dev/priority: urgent, holdshort.dev/state: admitted, holdshort.dev/x: forged}
  annotations:
    holdshort.dev/arrival: "1"
    holdshort.dev/user: root
    holdshort.dev/reservation: "{}"
    holdshort.dev/bypass: because
    holdshort.dev/hold: "true"
    holdshort.dev/min-parallelism: "1"
    other: kept
spec:
  suspend: false
  template:
    metadata:
      labels: {holdshort.dev/queue: other, holdshort.dev/priority: urgent, app: x}
      annotations: {holdshort.dev/flavors: "{}", plane.holdshort.dev/run: 1s}`,
			want: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q, holdshort.dev/priority: urgent, holdshort.dev/state: queued}
  annotations:
    holdshort.dev/arrival: "` + stamp + `"
    holdshort.dev/user: alice
    holdshort.dev/hold: "true"
    holdshort.dev/min-parallelism: "1"
    other: kept
spec:
  suspend: true
  template:
    metadata:
      labels: {holdshort.dev/priority: urgent, app: x}
      annotations: {plane.holdshort.dev/run: 1s}`,
		},
		{
			name: "a template that names the Job's own queue keeps it",
			job:  `{metadata: {name: a, labels: {holdshort.dev/queue: q}}, spec: {template: {metadata: {labels: {holdshort.dev/queue: q}}}}}`,
			want: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q, holdshort.dev/state: queued}
  annotations: {holdshort.dev/arrival: "` + stamp + `", holdshort.dev/user: alice}
spec: {suspend: true, template: {metadata: {labels: {holdshort.dev/queue: q}}}}`,
		},
		{
			name: "an unlabelled Job is left alone",
			job:  `{metadata: {name: a}, spec: {template: {}}}`,
			want: `{metadata: {name: a}, spec: {template: {}}}`,
		},
		{
			name: "a Job of a JobSet is left alone",
			job:  `{metadata: {name: a, labels: {holdshort.dev/queue: q}, ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: s, uid: u, controller: true}]}, spec: {template: {}}}`,
			want: `{metadata: {name: a, labels: {holdshort.dev/queue: q}, ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: s, uid: u, controller: true}]}, spec: {template: {}}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := request(t, c.job, "")
			got := apply(t, req, handler(&fakePolicy{}).Handle(t.Context(), req))
			if diff := cmp.Diff(normal(t, c.want), got); diff != "" {
				t.Errorf("stored object (-want +got):\n%s", diff)
			}
		})
	}
}

const queuedJob = `{metadata: {name: a, labels: {holdshort.dev/queue: q}}, spec: {template: {}}}`

func TestASecondCallOfTheSameRequestChangesNothing(t *testing.T) {
	h := handler(&fakePolicy{})
	first := request(t, queuedJob, "")
	once := apply(t, first, h.Handle(t.Context(), first))
	second := request(t, once, "")
	second.UID = "another call, another UID"
	if response := h.Handle(t.Context(), second); len(response.Patches) != 0 {
		t.Errorf("the second call patches again: %v", response.Patches)
	}
}

func TestAStampThatAnotherReplicaGaveIsForeign(t *testing.T) {
	h := handler(&fakePolicy{})
	first := request(t, queuedJob, "")
	once := apply(t, first, h.Handle(t.Context(), first))
	copied := request(t, strings.Replace(once, "name: a", "name: b", 1), "")
	if got := apply(t, copied, h.Handle(t.Context(), copied)); strings.Contains(got, `"`+stamp+`"`) {
		t.Errorf("Job b carries the stamp that Job a was given:\n%s", got)
	}
}

func TestStampsGrowThoughTheClockStandsStill(t *testing.T) {
	h := handler(&fakePolicy{})
	last := int64(0)
	for range 5000 {
		req := request(t, `{metadata: {generateName: a-, labels: {holdshort.dev/queue: q}}, spec: {template: {}}}`, "")
		var job struct {
			Metadata struct{ Annotations map[string]string }
		}
		if err := yaml.Unmarshal([]byte(apply(t, req, h.Handle(t.Context(), req))), &job); err != nil {
			t.Fatal(err)
		}
		got, err := strconv.ParseInt(job.Metadata.Annotations[policies.AnnotationArrival], 10, 64)
		if err != nil || got <= last {
			t.Fatalf("stamp %d after %d (%v)", got, last, err)
		}
		last = got
	}
}

func TestTheLedgersOwnWritesAreNotTouched(t *testing.T) {
	req := request(t, queuedJob, "")
	req.UserInfo.Username = ledgerUser
	if got := handler(&fakePolicy{}).Handle(t.Context(), req); !got.Allowed || len(got.Patches) != 0 {
		t.Errorf("got %+v, want allowed and unchanged", got)
	}
}

func TestANamespaceThatTheCacheDoesNotKnowIsManaged(t *testing.T) {
	req := request(t, queuedJob, "")
	req.Namespace = "new"
	if got := apply(t, req, handler(&fakePolicy{}).Handle(t.Context(), req)); !strings.Contains(got, "suspend: true") {
		t.Errorf("not suspended:\n%s", got)
	}
}

func TestWhatCannotBeReadIsNotCreated(t *testing.T) {
	req := request(t, queuedJob, "")
	req.Object.Raw = []byte(`{"spec": {"parallelism": "two"}, "metadata": {"labels": {"holdshort.dev/queue": "q"}}}`)
	if got := handler(&fakePolicy{}).Handle(t.Context(), req); got.Allowed {
		t.Error("allowed, unsuspended")
	}
}

func freeze(*policies.Input) ([]policies.Reason, error) {
	return []policies.Reason{{Code: "ops.example/Freeze", Message: "change freeze until Monday", RuleAt: "freeze.rego:7"}}, nil
}

func broken(*policies.Input) ([]policies.Reason, error) {
	return nil, errors.New("deny.rego:3: div: divide by zero")
}

func TestPolicyOnCreate(t *testing.T) {
	for _, c := range []struct {
		name     string
		policy   webhook.Policy
		refused  string
		warnings []string
	}{
		{
			name:    "deny refuses with code, message and rule",
			policy:  &fakePolicy{deny: freeze},
			refused: "ops.example/Freeze: change freeze until Monday (freeze.rego:7)",
		},
		{
			name:     "warn warns",
			policy:   &fakePolicy{warn: freeze},
			warnings: []string{"holdshort: ops.example/Freeze: change freeze until Monday (freeze.rego:7)"},
		},
		{
			name:     "an error in deny lets the Job wait, and says so",
			policy:   &fakePolicy{deny: broken},
			warnings: []string{"holdshort: PolicyError: deny.rego:3: div: divide by zero; the Job waits, and the policy is asked again before it starts"},
		},
		{
			name:     "without a policy the Job waits, and is told so",
			warnings: []string{"holdshort: PolicyUnavailable: no policy is in force yet; the Job waits until there is one"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := request(t, queuedJob, "")
			got := handler(c.policy).Handle(t.Context(), req)
			if c.refused != "" {
				if got.Allowed || got.Result.Code != 403 || got.Result.Message != c.refused {
					t.Errorf("got allowed=%t, %+v, want 403 %q", got.Allowed, got.Result, c.refused)
				}
				return
			}
			if job := apply(t, req, got); !strings.Contains(job, "suspend: true") {
				t.Errorf("not suspended:\n%s", job)
			}
			if diff := cmp.Diff(c.warnings, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatThePolicyIsAsked(t *testing.T) {
	policy := &fakePolicy{}
	req := request(t, `{metadata: {generateName: a-, labels: {holdshort.dev/queue: q}}, spec: {parallelism: 2, template: {spec: {containers: [{name: c, resources: {requests: {nvidia.com/gpu: "1"}}}]}}}}`, "")
	yes := true
	req.DryRun = &yes
	handler(policy).Handle(t.Context(), req)
	if len(policy.asked) != 1 {
		t.Fatalf("asked %d times, want once", len(policy.asked))
	}
	in := policy.asked[0]
	want := &policies.Request{Operation: "CREATE", User: "alice", Groups: []string{"devs"}, DryRun: true}
	if diff := cmp.Diff(want, in.Request); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if in.Workload.Name != "" || in.Workload.User != "alice" || in.Workload.ArrivalNS != noon || in.Workload.Total["nvidia.com/gpu"] != 2 {
		t.Errorf("workload %+v, want no name, user alice, arrival %d, 2 GPUs", in.Workload, noon)
	}
	if in.Namespace.Labels["team"] != "nlp" || in.Job["spec"] == nil {
		t.Errorf("namespace %+v, job %v, want the labels and the raw Job", in.Namespace, in.Job)
	}
}
