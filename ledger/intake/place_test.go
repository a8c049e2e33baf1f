package intake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

func apart(namespace, key, value string) []demand.Apart {
	return []demand.Apart{{
		Name: "anti-affinity to " + key + "=" + value + " in " + namespace, Namespaces: []string{namespace},
		Labels: []demand.NodeRequirement{{Key: key, Operator: "In", Values: []string{value}}},
	}}
}

func whole(name string) resource.List { return resource.List{name: resource.Whole} }

func TestWhereAPodMayRun(t *testing.T) {
	self := func(term string) string {
		return `{containers: [{name: a}], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [` + term + `]}}}`
	}
	cases := []struct {
		name string
		environment
		spec string
		want demand.Place
	}{
		{
			name: "nothing said is everywhere",
			spec: `{containers: [{name: a}]}`,
		},
		{
			name: "the node selector is the user's",
			spec: `{containers: [{name: a}], nodeSelector: {gpu: h100}}`,
			want: demand.Place{NodeSelector: map[string]string{"gpu": "h100"}},
		},
		{
			name:        "a RuntimeClass adds its nodes and tolerations",
			environment: environment{runtime: `{metadata: {name: kata}, handler: kata, scheduling: {nodeSelector: {runtime: kata}, tolerations: [{key: kata, operator: Exists}]}}`},
			spec:        `{containers: [{name: a}], runtimeClassName: kata, nodeSelector: {gpu: h100}, tolerations: [{key: gpu, operator: Exists}]}`,
			want: demand.Place{
				NodeSelector: map[string]string{"gpu": "h100", "runtime": "kata"},
				Tolerations:  []policies.Toleration{{Key: "gpu", Operator: "Exists"}, {Key: "kata", Operator: "Exists"}},
			},
		},
		{
			name: "the empty operator is Equal, and the same toleration counts once",
			spec: `{containers: [{name: a}], tolerations: [{key: gpu, value: x, effect: NoSchedule}, {key: gpu, operator: Equal, value: x, effect: NoSchedule}]}`,
			want: demand.Place{Tolerations: []policies.Toleration{{Key: "gpu", Operator: "Equal", Value: "x", Effect: "NoSchedule"}}},
		},
		{
			name: "required affinity keeps labels and fields apart",
			spec: `
containers: [{name: a}]
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: gpu, operator: In, values: [a100, h100]}, {key: cores, operator: Gt, values: ["8"]}]
      - matchFields: [{key: metadata.name, operator: In, values: [n1]}]
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 1, preference: {matchExpressions: [{key: zone, operator: Exists}]}}`,
			want: demand.Place{Affinity: []demand.NodeTerm{
				{Labels: []demand.NodeRequirement{
					{Key: "gpu", Operator: "In", Values: []string{"a100", "h100"}},
					{Key: "cores", Operator: "Gt", Values: []string{"8"}},
				}},
				{Fields: []demand.NodeRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n1"}}}},
			}},
		},
		{
			name: "a term with nothing in it matches no node",
			spec: `{containers: [{name: a}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}]}}}}`,
			want: demand.Place{Affinity: []demand.NodeTerm{}},
		},
		{
			name: "a pod that names its node runs there or nowhere",
			spec: `{containers: [{name: a}], nodeName: n7}`,
			want: demand.Place{Affinity: []demand.NodeTerm{
				{Fields: []demand.NodeRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n7"}}}},
			}},
		},
		{
			name: "a host port is taken once per node",
			spec: `{containers: [{name: a, ports: [{containerPort: 80, hostPort: 8080}]}]}`,
			want: demand.Place{Once: whole("host port 8080/TCP")},
		},
		{
			name: "on the host's network every port is a host port",
			spec: `{hostNetwork: true, containers: [{name: a, ports: [{containerPort: 80}]}]}`,
			want: demand.Place{Once: whole("host port 80/TCP")},
		},
		{
			name: "the host port of a plain init container is free again when the pod runs",
			spec: `{initContainers: [{name: i, ports: [{containerPort: 80, hostPort: 8080}]}], containers: [{name: a}]}`,
		},
		{
			name: "a sidecar's host port is taken",
			spec: `{initContainers: [{name: s, restartPolicy: Always, ports: [{containerPort: 80, hostPort: 8080}]}], containers: [{name: a}]}`,
			want: demand.Place{Once: whole("host port 8080/TCP")},
		},
		{
			name: "anti-affinity to its own siblings by host is one per node",
			spec: self(`{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: train}}}`),
			want: demand.Place{Apart: apart("research", "app", "train")},
		},
		{
			name: "in its own namespace by name too",
			spec: self(`{topologyKey: kubernetes.io/hostname, namespaces: [research], labelSelector: {matchLabels: {app: train}}}`),
			want: demand.Place{Apart: apart("research", "app", "train")},
		},
		{
			name: "anti-affinity to others by host is counted",
			spec: self(`{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}`),
			want: demand.Place{Apart: apart("research", "app", "web")},
		},
		{
			name: "a label that is to be the pod's own is looked up, as the API server does",
			spec: self(`{topologyKey: kubernetes.io/hostname, labelSelector: {}, matchLabelKeys: [app]}`),
			want: demand.Place{Apart: apart("research", "app", "train")},
		},
		{
			name: "anti-affinity to pods of all namespaces",
			spec: self(`{topologyKey: kubernetes.io/hostname, namespaceSelector: {}, labelSelector: {matchLabels: {app: web}}}`),
			want: demand.Place{Apart: []demand.Apart{{
				Name: "anti-affinity to app=web in all namespaces", Labels: []demand.NodeRequirement{{Key: "app", Operator: "In", Values: []string{"web"}}},
			}}},
		},
		{
			name: "anti-affinity to nobody",
			spec: self(`{topologyKey: kubernetes.io/hostname}`),
		},
		{
			name: "pods that keep away from those of their own Job are one per node, and no thing of its own",
			spec: self(`{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {batch.kubernetes.io/job-name: train}}}`),
			want: demand.Place{PerNode: 1},
		},
		{
			name: "anti-affinity in namespaces by their labels is not checked",
			spec: self(`{topologyKey: kubernetes.io/hostname, namespaceSelector: {matchLabels: {team: a}}, labelSelector: {matchLabels: {app: train}}}`),
			want: demand.Place{Unverified: []string{"podAntiAffinity"}},
		},
		{
			name: "anti-affinity by zone is not checked",
			spec: self(`{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: train}}}`),
			want: demand.Place{Unverified: []string{"podAntiAffinity"}},
		},
		{
			name: "what else is not checked is named, in order",
			spec: `
containers: [{name: a}]
schedulerName: volcano
schedulingGates: [{name: example.com/later}]
volumes: [{name: data, persistentVolumeClaim: {claimName: d}}, {name: tmp, emptyDir: {}}, {name: scratch, ephemeral: {}}]
topologySpreadConstraints:
- {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
- {maxSkew: 1, topologyKey: host, whenUnsatisfiable: ScheduleAnyway}
affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}`,
			want: demand.Place{Unverified: []string{
				"podAffinity", "schedulerName volcano", "schedulingGates", "topologySpreadConstraints", "volume data", "volume scratch",
			}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := jobOf(t, c.spec)
			job.Spec.Template.Labels = map[string]string{"app": "train", "batch.kubernetes.io/job-name": "train"}
			got := intake.Job(job, c.env(t))
			if got.Problem != nil {
				t.Fatal(got.Problem.Message)
			}
			if diff := cmp.Diff(c.want, got.PodSets[0].Place); diff != "" {
				t.Errorf("place (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatAnAdmissionInjectedIsNotTheUsers(t *testing.T) {
	injected := `
containers: [{name: a}]
nodeSelector: {team: nlp, gpu: h100}
tolerations: [{key: own, operator: Exists}, {key: gpu, operator: Exists}]
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Exists}]}]}
    preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}}]`
	record := `{"uid":"u1","nodeSelector":{"gpu":"h100"},"tolerations":[{"key":"gpu","operator":"Exists"}],"preferNodes":["n1"]}`
	place := demand.Place{
		NodeSelector: map[string]string{"team": "nlp"},
		Tolerations:  []policies.Toleration{{Key: "own", Operator: "Exists"}},
		Affinity:     []demand.NodeTerm{{Labels: []demand.NodeRequirement{{Key: "zone", Operator: "Exists"}}}},
	}

	job := jobOf(t, injected)
	job.Annotations = map[string]string{policies.AnnotationInjected: record}
	if diff := cmp.Diff(place, intake.Job(job, intake.Env{}).PodSets[0].Place); diff != "" {
		t.Errorf("place with the record (-want +got):\n%s", diff)
	}
	own, err := intake.Scheduling(job)
	if err != nil {
		t.Fatal(err)
	}
	want := intake.Own{
		NodeSelector: map[string]string{"team": "nlp"},
		Tolerations:  []any{map[string]any{"key": "own", "operator": "Exists"}},
	}
	if diff := cmp.Diff(want, own); diff != "" {
		t.Errorf("scheduling with the record (-want +got):\n%s", diff)
	}

	for name, text := range map[string]string{
		"another Job's record":           `{"uid":"u2","nodeSelector":{"gpu":"h100"}}`,
		"a record that can't be decoded": `{"uid":"u1","nodeSelector":[]}`,
	} {
		job.Annotations[policies.AnnotationInjected] = text
		own, err := intake.Scheduling(job)
		if err != nil {
			t.Fatal(err)
		}
		if own.NodeSelector["gpu"] != "h100" || len(own.Tolerations) != 2 || len(own.PreferredNodes) != 1 {
			t.Errorf("with %s the template counts, got %+v", name, own)
		}
	}
}
