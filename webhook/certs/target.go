package certs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// target is a webhook configuration to put the caBundle into.
type target struct {
	kind, name string
	// required: without it the API server cannot call us at all.
	required bool
	informer func(informers.SharedInformerFactory) cache.SharedIndexInformer
	entries  func(object any) (version string, bundles [][]byte)
	patch    func(ctx context.Context, patch []byte) error
}

// found is a target as it was read.
type found struct {
	target
	version string
	bundles [][]byte // of its entries, in their order
}

func mutating(client kubernetes.Interface, name string) target {
	return target{
		kind: "MutatingWebhookConfiguration", name: name, required: true,
		informer: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Admissionregistration().V1().MutatingWebhookConfigurations().Informer()
		},
		entries: func(object any) (string, [][]byte) {
			config := object.(*admissionregistrationv1.MutatingWebhookConfiguration)
			var bundles [][]byte
			for n := range config.Webhooks {
				bundles = append(bundles, config.Webhooks[n].ClientConfig.CABundle)
			}
			return config.ResourceVersion, bundles
		},
		patch: func(ctx context.Context, patch []byte) error {
			_, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Patch(
				ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: fieldOwner})
			return err
		},
	}
}

// validating is not required: it only checks policies while they are applied.
func validating(client kubernetes.Interface, name string) target {
	return target{
		kind: "ValidatingWebhookConfiguration", name: name,
		informer: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Admissionregistration().V1().ValidatingWebhookConfigurations().Informer()
		},
		entries: func(object any) (string, [][]byte) {
			config := object.(*admissionregistrationv1.ValidatingWebhookConfiguration)
			var bundles [][]byte
			for n := range config.Webhooks {
				bundles = append(bundles, config.Webhooks[n].ClientConfig.CABundle)
			}
			return config.ResourceVersion, bundles
		},
		patch: func(ctx context.Context, patch []byte) error {
			_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(
				ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: fieldOwner})
			return err
		},
	}
}

func (t target) read(object any) found {
	version, bundles := t.entries(object)
	return found{target: t, version: version, bundles: bundles}
}

func (f found) joined() []byte { return bytes.Join(f.bundles, nil) }

// write makes every entry have the bundle.
func (f found) write(ctx context.Context, bundle []byte) error {
	patch := f.bundlePatch(bundle)
	if patch == nil {
		return nil
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("writing the patch of the caBundle: %w", err)
	}
	if err := f.patch(ctx, raw); err != nil {
		return fmt.Errorf("writing the caBundle of %s %s: %w", f.kind, f.name, err)
	}
	return nil
}

// operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// bundlePatch is what to change; nil if nothing. It holds only for the version of
// the configuration that was read, since entries are addressed by their place.
func (f found) bundlePatch(bundle []byte) []operation {
	patch := []operation{{Op: "test", Path: "/metadata/resourceVersion", Value: f.version}}
	for n, has := range f.bundles {
		if !bytes.Equal(has, bundle) {
			patch = append(patch, operation{Op: "add", Path: fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", n), Value: bundle})
		}
	}
	if len(patch) == 1 {
		return nil
	}
	return patch
}
