//go:build plane

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/holdshort/holdshort/test/stories"
)

// cleanUp deletes everything in the scene's namespace and waits until it is gone. The
// namespace stays for the next test: its controller waits for five seconds and more
// before it begins to delete one.
func cleanUp(t *testing.T, s *stories.Scene) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := newBroom(s)
	if err == nil {
		err = stories.Eventually(ctx, time.Minute, "namespace "+s.NS+" is empty", b.all)
	}
	if err != nil {
		t.Error(err)
	}
}

// broom empties a namespace.
type broom struct {
	client metadata.Interface
	ns     string
	kinds  []schema.GroupVersionResource // of which something may be left
}

func newBroom(s *stories.Scene) (*broom, error) {
	client, err := metadata.NewForConfig(s.Admin)
	if err != nil {
		return nil, fmt.Errorf("making a client for all kinds: %w", err)
	}
	lists, err := s.Client.Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		return nil, fmt.Errorf("looking up all kinds: %w", err)
	}
	found, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "deletecollection"}}, lists))
	if err != nil {
		return nil, fmt.Errorf("looking up all kinds: %w", err)
	}
	b := &broom{client: client, ns: s.NS}
	for kind := range found {
		b.kinds = append(b.kinds, kind)
	}
	// Who makes others goes first, and pods with their Jobs: else they are made anew.
	slices.SortFunc(b.kinds, func(one, other schema.GroupVersionResource) int { return rank(one) - rank(other) })
	return b, nil
}

func rank(kind schema.GroupVersionResource) int {
	if at := slices.Index([]string{"cronjobs", "jobs"}, kind.Resource); at >= 0 {
		return at
	}
	return 2
}

// all deletes what is left, and tells whether nothing was.
func (b *broom) all(ctx context.Context) (bool, string) {
	var left []string
	var kinds []schema.GroupVersionResource
	for _, kind := range b.kinds {
		names, err := b.one(ctx, kind)
		if err != nil {
			names = append(names, err.Error())
		}
		if len(names) > 0 {
			kinds = append(kinds, kind)
			left = append(left, fmt.Sprintf("%s %q", kind.Resource, names))
		}
	}
	b.kinds = kinds
	return len(kinds) == 0, fmt.Sprint(left)
}

// one deletes what is left of a kind, and names it. What every namespace has stays,
// and nobody waits for events, which tell of the deletions, too.
func (b *broom) one(ctx context.Context, kind schema.GroupVersionResource) ([]string, error) {
	client := b.client.Resource(kind).Namespace(b.ns)
	background, which := metav1.DeletePropagationBackground, metav1.ListOptions{}
	switch kind.Resource {
	case "serviceaccounts":
		which.FieldSelector = "metadata.name!=default"
	case "configmaps":
		which.FieldSelector = "metadata.name!=kube-root-ca.crt"
	}
	if err := client.DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, which); err != nil || kind.Resource == "events" {
		return nil, err
	}
	list, err := client.List(ctx, which)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}
