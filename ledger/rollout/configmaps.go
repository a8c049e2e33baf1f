package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/policies/engine"
)

// PolicyLabel marks the ConfigMaps that hold policy, with the value "true".
const PolicyLabel = "holdshort.dev/policy"

// AnyConfigMap stands in Granted for each selected ConfigMap that has no roots of
// its own.
const AnyConfigMap = "*"

// ConfigMaps is a bundle in ConfigMaps of one namespace. Which of them count, and
// what each may write, is granted by whoever runs the manager, never by the
// ConfigMap itself.
type ConfigMaps struct {
	Cache     cache.Cache
	Namespace string
	// Names of those that must be there. They may write everything, unless
	// Granted says otherwise.
	Names []string
	// Selector picks more by their labels. These write only what is granted to
	// them: whoever may make a ConfigMap may label it.
	Selector labels.Selector
	// Granted are the roots by name of the ConfigMap.
	Granted map[string]engine.Roots

	standIn bool // a name with ShadowSuffix has the grants of the one without
}

// Read implements Source. Each named ConfigMap must be there: the rest alone is
// another policy, maybe without the rules that refuse something.
func (c ConfigMaps) Read(ctx context.Context) (engine.Bundle, error) {
	data, err := c.data(ctx)
	if err != nil {
		return engine.Bundle{Source: "ConfigMaps in " + c.Namespace}, err
	}
	return c.Assemble(data)
}

// data of all ConfigMaps that count, by name.
func (c ConfigMaps) data(ctx context.Context) (map[string]map[string]string, error) {
	data, missing, err := c.Present(ctx)
	if err == nil && len(missing) > 0 {
		err = c.gone(missing[0])
	}
	return data, err
}

func (c ConfigMaps) gone(name string) error {
	return fmt.Errorf("ConfigMap %s/%s is not there. Try: make it, or name others with --policy-config-maps", c.Namespace, name)
}

// Present is the data of those that count and are there, by name, and the names
// of those that must be there and are not.
func (c ConfigMaps) Present(ctx context.Context) (data map[string]map[string]string, missing []string, err error) {
	found, missing, err := c.found(ctx)
	if err != nil {
		return nil, nil, err
	}
	data = make(map[string]map[string]string, len(found))
	for name, configMap := range found {
		data[name] = engine.ConfigMapFiles(configMap.Data, configMap.BinaryData)
	}
	return data, missing, nil
}

// found is Present with all that the ConfigMaps have.
func (c ConfigMaps) found(ctx context.Context) (found map[string]*corev1.ConfigMap, missing []string, err error) {
	found = map[string]*corev1.ConfigMap{}
	for _, name := range c.Names {
		one := &corev1.ConfigMap{}
		err := c.Cache.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: name}, one)
		if apierrors.IsNotFound(err) {
			missing = append(missing, name)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading ConfigMap %s/%s: %w", c.Namespace, name, err)
		}
		found[name] = one
	}
	if c.Selector != nil {
		var list corev1.ConfigMapList
		if err := c.Cache.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabelsSelector{Selector: c.Selector}); err != nil {
			return nil, nil, fmt.Errorf("listing ConfigMaps in %s with %s: %w", c.Namespace, c.Selector, err)
		}
		for i := range list.Items {
			found[list.Items[i].Name] = &list.Items[i]
		}
	}
	return found, missing, nil
}

// Assemble makes the bundle of ConfigMaps by name, as Read does, and refuses what
// one writes without being allowed to.
func (c ConfigMaps) Assemble(data map[string]map[string]string) (engine.Bundle, error) {
	granted := map[string]engine.Roots{}
	for name := range data {
		if roots, restricted := c.roots(name); restricted {
			granted[name] = roots
		}
	}
	return engine.FromGrantedConfigMaps(data, granted)
}

func (c ConfigMaps) roots(name string) (roots engine.Roots, restricted bool) {
	if c.standIn {
		name = strings.TrimSuffix(name, ShadowSuffix)
	}
	if roots, restricted = c.Granted[name]; restricted {
		return roots, true
	}
	if slices.Contains(c.Names, name) {
		return nil, false
	}
	return c.Granted[AnyConfigMap], true
}

// Counts says whether a ConfigMap is part of the policy.
func (c ConfigMaps) Counts(name string, labelled map[string]string) bool {
	return slices.Contains(c.Names, name) || c.Selector != nil && c.Selector.Matches(labels.Set(labelled))
}

// Watch implements Source.
func (c ConfigMaps) Watch(ctx context.Context, changed func()) error {
	informer, err := c.Cache.GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		return fmt.Errorf("watching ConfigMaps in %s: %w", c.Namespace, err)
	}
	mark := func(obj any) {
		if o, ok := obj.(client.Object); !ok || c.Counts(o.GetName(), o.GetLabels()) {
			changed()
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: mark,
		// One that loses its label counted before.
		UpdateFunc: func(before, now any) { mark(before); mark(now) },
		DeleteFunc: mark,
	})
	if err != nil {
		return fmt.Errorf("watching ConfigMaps in %s: %w", c.Namespace, err)
	}
	<-ctx.Done()
	return informer.RemoveEventHandler(registration)
}
