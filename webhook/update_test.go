package webhook_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
)

// admittedJob runs: the ledger injected a selector, a toleration and a hint.
const admittedJob = `
metadata:
  name: a
  uid: u1
  labels: {holdshort.dev/queue: q, holdshort.dev/state: admitted}
  annotations:
    holdshort.dev/arrival: "7"
    holdshort.dev/user: alice
    holdshort.dev/reservation: '{"uid":"u1"}'
    holdshort.dev/injected: '{"uid":"u1","nodeSelector":{"gpu":"h100"},"tolerations":[{"key":"nvidia.com/gpu","operator":"Exists"}],"preferNodes":["n1"]}'
spec:
  suspend: false
  parallelism: 2
  template:
    metadata:
      labels: {app: x, holdshort.dev/queue: q}
      annotations: {holdshort.dev/flavors: '{"pods":"h100"}'}
    spec:
      nodeSelector: {disk: ssd, gpu: h100}
      tolerations: [{key: mine, operator: Exists, tolerationSeconds: 30}, {key: nvidia.com/gpu, operator: Exists}]
      affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}}]}}
`

// reducedJob runs 2 pods of 8.
var reducedJob = strings.Replace(admittedJob, `"preferNodes":["n1"]`, `"preferNodes":["n1"],"parallelism":{"to":2,"from":8}`, 1)

func TestUpdate(t *testing.T) {
	for _, c := range []struct{ name, old, job, want string }{
		{
			name: "a manifest that replaces an admitted Job, suspension and all, changes nothing",
			old:  admittedJob,
			job: `
metadata: {name: a, uid: u1, labels: {holdshort.dev/queue: q}}
spec:
  suspend: true
  parallelism: 2
  template:
    metadata: {labels: {app: x}}
    spec:
      nodeSelector: {disk: ssd}
      tolerations: [{key: mine, operator: Exists, tolerationSeconds: 30}]
`,
			want: admittedJob,
		},
		{
			name: "a Job that started with fewer pods keeps to them when its manifest asks for all again",
			old:  reducedJob,
			job:  strings.Replace(reducedJob, "parallelism: 2", "parallelism: 8", 1),
			want: reducedJob,
		},
		{
			name: "and may be made smaller",
			old:  reducedJob,
			job:  strings.Replace(reducedJob, "parallelism: 2", "parallelism: 1", 1),
			want: strings.Replace(reducedJob, "parallelism: 2", "parallelism: 1", 1),
		},
		{
			name: "any other number is for the API server to refuse",
			old:  reducedJob,
			job:  strings.Replace(reducedJob, "parallelism: 2", "parallelism: 7", 1),
			want: strings.Replace(reducedJob, "parallelism: 2", "parallelism: 7", 1),
		},
		{
			name: "while it is suspended its parallelism is its user's",
			old:  strings.Replace(reducedJob, "suspend: false", "suspend: true", 1),
			job:  strings.NewReplacer("suspend: false", "suspend: true", "parallelism: 2", "parallelism: 8").Replace(reducedJob),
			want: strings.NewReplacer("suspend: false", "suspend: true", "parallelism: 2", "parallelism: 8").Replace(reducedJob),
		},
		{
			name: "who sets the hold annotation suspends it",
			old:  admittedJob,
			job: strings.NewReplacer("suspend: false", "suspend: true",
				"annotations:\n    holdshort.dev/arrival", "annotations:\n    holdshort.dev/hold: \"true\"\n    holdshort.dev/arrival").Replace(admittedJob),
			want: strings.NewReplacer("suspend: false", "suspend: true",
				"annotations:\n    holdshort.dev/arrival", "annotations:\n    holdshort.dev/hold: \"true\"\n    holdshort.dev/arrival").Replace(admittedJob),
		},
		{
			name: "what the update changes on purpose stays changed",
			old:  admittedJob,
			job:  strings.NewReplacer("disk: ssd, gpu: h100", "disk: hdd, gpu: a100", "parallelism: 2", "parallelism: 1").Replace(admittedJob),
			want: strings.NewReplacer("disk: ssd, gpu: h100", "disk: hdd, gpu: a100", "parallelism: 2", "parallelism: 1").Replace(admittedJob),
		},
		{
			name: "a queued Job keeps what the ledger wrote, and its scheduling is the user's",
			old: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q, holdshort.dev/state: queued}
  annotations: {holdshort.dev/arrival: "7", holdshort.dev/user: alice, holdshort.dev/message: "WaitingForQuota: wait"}
spec: {suspend: true, template: {spec: {nodeSelector: {disk: ssd}}}}`,
			job: `{metadata: {name: a, labels: {holdshort.dev/queue: q}}, spec: {suspend: true, template: {spec: {}}}}`,
			want: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q, holdshort.dev/state: queued}
  annotations: {holdshort.dev/arrival: "7", holdshort.dev/user: alice, holdshort.dev/message: "WaitingForQuota: wait"}
spec: {suspend: true, template: {spec: {}}}`,
		},
		{
			name: "a Job that enters a queue is cleaned, not suspended, and stamped by the ledger when it sees it",
			old:  `{metadata: {name: a, annotations: {holdshort.dev/bypass: old}}, spec: {suspend: true, template: {}}}`,
			job: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q, holdshort.dev/state: admitted}
  annotations: {holdshort.dev/bypass: old, holdshort.dev/reservation: "{}"}
spec: {suspend: true, template: {metadata: {annotations: {holdshort.dev/flavors: "{}"}}}}`,
			want: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q}
  annotations: {holdshort.dev/user: alice}
spec: {suspend: true, template: {metadata: {annotations: {}}}}`,
		},
		{
			name: "a running Job that enters a queue is left to the validating policy",
			old:  `{metadata: {name: a}, spec: {suspend: false, template: {metadata: {labels: {holdshort.dev/queue: z}}}}}`,
			job:  `{metadata: {name: a, labels: {holdshort.dev/queue: q}}, spec: {suspend: false, template: {metadata: {labels: {holdshort.dev/queue: z}}}}}`,
			want: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q}
  annotations: {holdshort.dev/user: alice}
spec: {suspend: false, template: {metadata: {labels: {holdshort.dev/queue: z}}}}`,
		},
		{
			name: "a Job whose foreign parent goes away enters its queue, and is cleaned",
			old: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q, holdshort.dev/state: admitted}
  annotations: {holdshort.dev/user: boss, holdshort.dev/reservation: "{}"}
  ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: s, uid: u, controller: true}]
spec: {suspend: true, template: {metadata: {annotations: {holdshort.dev/flavors: "{}"}}}}`,
			job: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q, holdshort.dev/state: admitted}
  annotations: {holdshort.dev/user: boss, holdshort.dev/reservation: "{}"}
spec: {suspend: true, template: {metadata: {annotations: {holdshort.dev/flavors: "{}"}}}}`,
			want: `
metadata:
  name: a
  labels: {holdshort.dev/queue: q}
  annotations: {holdshort.dev/user: alice}
spec: {suspend: true, template: {metadata: {annotations: {}}}}`,
		},
		{
			name: "a Job that leaves its queue leaves all behind that the ledger wrote",
			old:  strings.Replace(admittedJob, "suspend: false", "suspend: true", 1),
			job: strings.NewReplacer("suspend: false", "suspend: true",
				"labels: {holdshort.dev/queue: q, holdshort.dev/state: admitted}", "labels: {holdshort.dev/priority: urgent, holdshort.dev/state: admitted}",
				"annotations:\n    holdshort.dev/arrival", "annotations:\n    holdshort.dev/hold: \"true\"\n    holdshort.dev/arrival").Replace(admittedJob),
			want: `
metadata:
  name: a
  uid: u1
  labels: {holdshort.dev/priority: urgent}
  annotations: {holdshort.dev/hold: "true"}
spec:
  suspend: true
  parallelism: 2
  template:
    metadata:
      labels: {app: x}
      annotations: {}
    spec:
      nodeSelector: {disk: ssd, gpu: h100}
      tolerations: [{key: mine, operator: Exists, tolerationSeconds: 30}, {key: nvidia.com/gpu, operator: Exists}]
      affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}}]}}
`,
		},
		{
			name: "who says why, in the same request, is not undone",
			old:  admittedJob,
			job:  `{metadata: {name: a, uid: u1, labels: {holdshort.dev/queue: q}, annotations: {holdshort.dev/bypass: emergency}}, spec: {suspend: true, parallelism: 2, template: {}}}`,
			want: `{metadata: {name: a, uid: u1, labels: {holdshort.dev/queue: q}, annotations: {holdshort.dev/bypass: emergency}}, spec: {suspend: true, parallelism: 2, template: {}}}`,
		},
		{
			name: "a Job that is being deleted is not touched",
			old:  strings.Replace(admittedJob, "uid: u1\n", "uid: u1\n  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n", 1),
			job:  `{metadata: {name: a, labels: {holdshort.dev/queue: q}}, spec: {suspend: true, template: {}}}`,
			want: `{metadata: {name: a, labels: {holdshort.dev/queue: q}}, spec: {suspend: true, template: {}}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := request(t, c.job, c.old)
			got := apply(t, req, handler(&fakePolicy{}).Handle(t.Context(), req))
			if diff := cmp.Diff(normal(t, c.want), got); diff != "" {
				t.Errorf("stored object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPolicyOnUpdate(t *testing.T) {
	big := func(in *policies.Input) ([]policies.Reason, error) {
		if in.Workload.PodSets[0].Count < 3 {
			return nil, nil
		}
		return []policies.Reason{{Code: "team.example/TooBig", Message: "at most 2 pods"}}, nil
	}
	const queued = `{metadata: {name: a, labels: {holdshort.dev/queue: q, holdshort.dev/state: queued}}, spec: {suspend: true, parallelism: N, template: {}}}`
	const parent = `ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: s, uid: u, controller: true}]`
	pods := func(n string) string { return strings.Replace(queued, "N", n, 1) }
	for _, c := range []struct {
		name, old, job string
		allowed        bool
		asked          int
	}{
		{"an update that changes nothing the policy judges is not asked about", pods("3"), strings.Replace(pods("3"), "name: a,", "name: a, annotations: {x: z},", 1), true, 0},
		{"a changed spec is denied", pods("2"), pods("3"), false, 2},
		{"a changed queue is denied", pods("2"), strings.Replace(pods("3"), "queue: q", "queue: z", 1), false, 2},
		{"what was denied before for the same reason may be edited", pods("4"), pods("3"), true, 2},
		{"a Job that becomes ours is asked about as if it were new", strings.Replace(pods("3"), "name: a,", "name: a, "+parent+",", 1), pods("3"), false, 1},
		{"a Job that is labelled is asked about as if it were new", strings.Replace(pods("3"), "holdshort.dev/queue: q, ", "", 1), pods("3"), false, 1},
		{"what is being deleted is not asked about", strings.Replace(pods("2"), "name: a,", `name: a, deletionTimestamp: "2026-01-01T00:00:00Z",`, 1), pods("3"), true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			policy := &fakePolicy{deny: big}
			got := handler(policy).Handle(t.Context(), request(t, c.job, c.old))
			if got.Allowed != c.allowed || len(policy.asked) != c.asked {
				t.Errorf("allowed %t after %d questions, want %t after %d", got.Allowed, len(policy.asked), c.allowed, c.asked)
			}
		})
	}
}

func TestTheGarbageCollectorIsNeverRefused(t *testing.T) {
	no := func(*policies.Input) ([]policies.Reason, error) {
		return []policies.Reason{{Code: "team.example/No", Message: "not this one"}}, nil
	}
	req := request(t, `{metadata: {name: a, labels: {holdshort.dev/queue: q}}, spec: {suspend: true, template: {}}}`,
		`{metadata: {name: a, labels: {holdshort.dev/queue: q}, ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: s, uid: u, controller: true}]}, spec: {suspend: true, template: {}}}`)
	if got := handler(&fakePolicy{deny: no}).Handle(t.Context(), req); got.Allowed {
		t.Error("the policy is not asked about a Job that becomes ours")
	}
	req.UserInfo.Username = "system:serviceaccount:kube-system:generic-garbage-collector"
	if got := handler(&fakePolicy{deny: no}).Handle(t.Context(), req); !got.Allowed {
		t.Errorf("refused: %s", got.Result.Message)
	}
}
