package rollout

import (
	"context"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/policies/engine"
)

// readCache is a cache that only reads, from a store.
type readCache struct {
	cache.Cache
	store client.Client
}

func (r readCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return r.store.Get(ctx, key, obj, opts...)
}

func (r readCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return r.store.List(ctx, list, opts...)
}

func TestAllNamedConfigMapsTogetherAreThePolicyOrThereIsNone(t *testing.T) {
	store := cluster(t)
	for name, data := range map[string]map[string]string{
		"base": {"data.yaml": goodData}, "extra": {"deny.rego": "package holdshort.policy\n"}, "stranger": {"x.rego": "package x\n"},
	} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: data}
		if err := store.Create(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	source := ConfigMaps{Cache: readCache{store: store}, Namespace: "ns", Names: []string{"base", "extra"}}
	bundle, err := source.Read(t.Context())
	if err != nil || len(bundle.Files) != 2 {
		t.Fatalf("read %d files, %v; want the 2 of the named ConfigMaps", len(bundle.Files), err)
	}
	if err := store.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "extra"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "ns/extra") || !strings.Contains(err.Error(), "Try:") {
		t.Errorf("with one missing the error is %v, want one that names it and says what to do", err)
	}
}

func TestWhatIsInBinaryDataIsPartOfThePolicyOrRefused(t *testing.T) {
	store := cluster(t)
	policy := configMap("base", nil, goodData)
	policy.BinaryData = map[string][]byte{"deny.rego": []byte("package holdshort.policy\n"), "logo.png": {0xff, 0}}
	if err := store.Create(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	source := ConfigMaps{Cache: readCache{store: store}, Namespace: "ns", Names: []string{"base"}}
	bundle, err := source.Read(t.Context())
	if err != nil || len(bundle.Files) != 2 || bundle.Files["base/deny.rego"] == nil {
		t.Fatalf("read %d files, %v; want the rule, too", len(bundle.Files), err)
	}
	if _, err := engine.Compile(t.Context(), bundle, engine.Options{}); err != nil {
		t.Error(err)
	}
	policy.BinaryData["deny.rego"] = []byte("package holdshort.policy\n\ndeny contains \"\xff\" if true\n")
	if err := store.Update(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	if bundle, err = source.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Compile(t.Context(), bundle, engine.Options{}); err == nil || !strings.Contains(err.Error(), "base/deny.rego") {
		t.Errorf("a rule that is no UTF-8: %v, want it refused with its name", err)
	}
}

func configMap(name string, labelled map[string]string, data string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: labelled},
		Data:       map[string]string{"data.yaml": data},
	}
}

// TestASelectedConfigMapWritesOnlyWhatIsGranted: whoever may make a ConfigMap may
// give it the label, and gains nothing by that.
func TestASelectedConfigMapWritesOnlyWhatIsGranted(t *testing.T) {
	roots := func(texts ...string) engine.Roots {
		t.Helper()
		parsed, err := engine.ParseRoots(texts)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	const queue = "holdshort: {config: {queues: {team-a: {flavors: [gpu], quota: {}}}}}"
	label := map[string]string{"holdshort.dev/policy": "true"}
	cases := []struct {
		name    string
		more    []*corev1.ConfigMap
		granted map[string]engine.Roots
		files   int
		says    string // empty: taken
	}{
		{"nobody else", nil, nil, 1, ""},
		{"one without the label", []*corev1.ConfigMap{configMap("team-a", nil, queue)}, nil, 1, ""},
		{"one with roots", []*corev1.ConfigMap{configMap("team-a", label, queue)}, map[string]engine.Roots{"team-a": roots("holdshort.config.queues.team-a")}, 2, ""},
		{"one with the roots of all", []*corev1.ConfigMap{configMap("team-a", label, queue)}, map[string]engine.Roots{AnyConfigMap: roots("holdshort.config.queues")}, 2, ""},
		{"one without roots", []*corev1.ConfigMap{configMap("team-a", label, queue)}, nil, 0, "team-a/data.yaml:1: holdshort is outside of what ConfigMap team-a may write"},
		{"one with another's roots", []*corev1.ConfigMap{configMap("team-b", label, queue)}, map[string]engine.Roots{"team-b": roots("holdshort.config.queues.team-b")}, 0, "team-b/data.yaml:1: holdshort.config.queues.team-a is outside"},
		{"one whose own roots are narrower than those of all", []*corev1.ConfigMap{configMap("team-a", label, queue)},
			map[string]engine.Roots{AnyConfigMap: roots("holdshort.config"), "team-a": roots("holdshort.config.teams")}, 0, "queues is outside"},
		{"the base, if it has roots", nil, map[string]engine.Roots{"base": roots("holdshort.config.queues")}, 0, "base/data.yaml:3: holdshort.config.flavors is outside"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			store := cluster(t)
			for _, cm := range append(c.more, configMap("base", nil, goodData)) {
				if err := store.Create(t.Context(), cm.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}
			source := ConfigMaps{
				Cache: readCache{store: store}, Namespace: "ns", Names: []string{"base"},
				Selector: labels.SelectorFromSet(label), Granted: c.granted,
			}
			bundle, err := source.Read(t.Context())
			if c.says == "" && (err != nil || len(bundle.Files) != c.files) {
				t.Errorf("got %d files, %v; want %d", len(bundle.Files), err, c.files)
			}
			if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("got %v, want an error with %q", err, c.says)
			}
		})
	}
}

func TestWhichConfigMapsCount(t *testing.T) {
	label := map[string]string{"team": "a"}
	source := ConfigMaps{Names: []string{"base"}, Selector: labels.SelectorFromSet(label)}
	if !source.Counts("base", nil) || !source.Counts("x", label) || source.Counts("x", nil) || (ConfigMaps{}).Counts("x", label) {
		t.Error("want those that are named or have the label, and no other")
	}
}

func TestTheLastGoodFolderIsInForceAfterARestartWithTheFolderGone(t *testing.T) {
	c := cluster(t)
	folder := folderWith(t, "data.yaml", goodData)
	r := rolloutOn(c, Folder(folder))
	r.look(t.Context())
	r.settled(t.Context())
	digest := r.Engine.Active().Digest()
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	again := rolloutOn(c, Folder(folder))
	if err := again.restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	again.look(t.Context())
	if active := again.Engine.Active(); active == nil || active.Digest() != digest {
		t.Errorf("in force is %v, want %s", active, digest)
	}
}
