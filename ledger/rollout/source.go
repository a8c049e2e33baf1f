package rollout

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/policies/engine"
)

// Source is where a bundle is kept.
type Source interface {
	// Read returns the bundle as it is now.
	Read(context.Context) (engine.Bundle, error)
	// Watch calls changed whenever the bundle may be another one, until ctx ends.
	Watch(ctx context.Context, changed func()) error
}

// folderPoll is how often a folder is looked at. Looking is cheap, and unlike
// file notifications it sees through symbolic links and network mounts.
const folderPoll = time.Second

// Folder is a bundle in a folder.
type Folder string

// Read implements Source.
func (f Folder) Read(context.Context) (engine.Bundle, error) { return engine.ReadDir(string(f)) }

// Watch implements Source.
func (f Folder) Watch(ctx context.Context, changed func()) error {
	tick := time.NewTicker(folderPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			changed()
		}
	}
}

// ConfigMaps is a bundle in ConfigMaps of one namespace. Only the named ones
// count: which may hold policy is granted by whoever runs the manager, never by
// the ConfigMap itself.
type ConfigMaps struct {
	Cache     cache.Cache
	Namespace string
	Names     []string
}

// Read implements Source. Each named ConfigMap must be there: the rest alone is
// another policy, maybe without the rules that refuse something.
func (c ConfigMaps) Read(ctx context.Context) (engine.Bundle, error) {
	data := map[string]map[string]string{}
	for _, name := range c.Names {
		var found corev1.ConfigMap
		err := c.Cache.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: name}, &found)
		if apierrors.IsNotFound(err) {
			return engine.Bundle{Source: "ConfigMaps in " + c.Namespace}, fmt.Errorf(
				"ConfigMap %s/%s is not there. Try: make it, or name others with --policy-config-maps", c.Namespace, name)
		}
		if err != nil {
			return engine.Bundle{}, fmt.Errorf("reading ConfigMap %s/%s: %w", c.Namespace, name, err)
		}
		data[name] = found.Data
	}
	return engine.FromConfigMaps(data)
}

// Watch implements Source.
func (c ConfigMaps) Watch(ctx context.Context, changed func()) error {
	informer, err := c.Cache.GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		return fmt.Errorf("watching ConfigMaps in %s: %w", c.Namespace, err)
	}
	mark := func(obj any) {
		if o, ok := obj.(client.Object); !ok || slices.Contains(c.Names, o.GetName()) {
			changed()
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    mark,
		UpdateFunc: func(_, now any) { mark(now) },
		DeleteFunc: mark,
	})
	if err != nil {
		return fmt.Errorf("watching ConfigMaps in %s: %w", c.Namespace, err)
	}
	<-ctx.Done()
	return informer.RemoveEventHandler(registration)
}
