package rollout

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies/engine"
)

// one is a cache with one ConfigMap.
type one struct {
	cache.Cache
	configMap *corev1.ConfigMap
}

func (o one) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	o.configMap.DeepCopyInto(into.(*corev1.ConfigMap))
	return nil
}

func wrote(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestWhatIsNoneOfHelmsIsDoubted(t *testing.T) {
	const helms = `{"f:data":{".":{},"f:data.yaml":{}},"f:metadata":{"f:labels":{"f:app.kubernetes.io/managed-by":{}}}}`
	added := wrote("kubectl-edit", `{"f:data":{"f:x.rego":{}}}`)
	stray := func(by string) []engine.Problem {
		return []engine.Problem{{
			File:    "base/x.rego",
			Message: by + " wrote it in place, so it is none of helm's: an upgrade leaves it in force, or says that there is a conflict",
			Try:     `kubectl -n ns patch configmap base --type=merge -p '{"data":{"x.rego":null}}' removes a file that was added; helm upgrade --force-conflicts takes a change back`,
		}}
	}
	for _, c := range []struct {
		name    string
		label   string
		entries []metav1.ManagedFieldsEntry
		want    []engine.Problem
	}{
		{"a file that was added in place", "Helm", []metav1.ManagedFieldsEntry{wrote("helm", helms), added}, stray("kubectl-edit")},
		{"one that two have written", "Helm", []metav1.ManagedFieldsEntry{added, wrote("a", `{"f:data":{"f:x.rego":{}}}`), wrote("helm", helms), added}, stray("a, kubectl-edit")},
		{"nothing, if helm wrote all of it", "Helm", []metav1.ManagedFieldsEntry{wrote("helm", helms)}, nil},
		{"nothing, if helm has it as well", "Helm", []metav1.ManagedFieldsEntry{wrote("helm", helms), wrote("a", `{"f:data":{"f:data.yaml":{}}}`)}, nil},
		{"nothing, if another tool brought the chart in", "Helm", []metav1.ManagedFieldsEntry{wrote("argocd-controller", helms)}, nil},
		{"nothing of a ConfigMap that is not Helm's", "", []metav1.ManagedFieldsEntry{added}, nil},
		{"nothing of who wrote no data", "Helm", []metav1.ManagedFieldsEntry{wrote("helm", helms), wrote("a", `{"f:metadata":{"f:annotations":{"f:x":{}}}}`), {Manager: "b"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := configMap("base", map[string]string{managedByLabel: c.label}, goodData)
			of.ManagedFields = c.entries
			got, err := ConfigMaps{Cache: one{configMap: of}, Namespace: "ns", Names: []string{"base"}}.Doubts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// doubtful is a source with something to say about itself.
type doubtful struct {
	*memory
	doubts []engine.Problem
}

func (d doubtful) Doubts(context.Context) ([]engine.Problem, error) { return d.doubts, nil }

func TestTheStatusShowsWhatTheSourceDoubtsAsLongAsItDoes(t *testing.T) {
	c := cluster(t)
	source := &doubtful{memory: &memory{files: map[string][]byte{"data.yaml": []byte(goodData)}}}
	r := rolloutOn(c, source)
	want := []v1alpha1.PolicyProblem{{At: "base/x.rego", Message: "odd", Try: "even"}}
	warnings := func(doubts ...engine.Problem) (active, candidate []v1alpha1.PolicyProblem) {
		t.Helper()
		source.doubts = doubts
		r.look(t.Context())
		r.settled(t.Context())
		status := statusOf(t, c)
		if status.Candidate != nil {
			candidate = status.Candidate.Warnings
		}
		return status.Active.Warnings, candidate
	}
	odd := engine.Problem{File: "base/x.rego", Message: "odd", Try: "even"}
	if got, _ := warnings(); got != nil {
		t.Fatalf("warnings without a doubt: %v", got)
	}
	if got, _ := warnings(odd); !cmp.Equal(want, got) {
		t.Errorf("of what is in force: %v, want %v", got, want)
	}
	source.files = map[string][]byte{"data.yaml": []byte("holdshort: {}\nx")}
	if got, candidates := warnings(odd); got != nil || !cmp.Equal(want, candidates) {
		t.Errorf("with a candidate: %v in force, %v of the candidate, want %v of the candidate only", got, candidates, want)
	}
	source.files = map[string][]byte{"data.yaml": []byte(goodData)}
	if got, _ := warnings(); got != nil {
		t.Errorf("when there is no doubt any more: %v", got)
	}
}
