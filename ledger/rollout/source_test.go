package rollout

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// readCache is a cache that only reads, from a store.
type readCache struct {
	cache.Cache
	store client.Client
}

func (r readCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return r.store.Get(ctx, key, obj, opts...)
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
