package certs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const (
	retryAfter = time.Second
	lookAgain  = time.Minute // for what expires while nothing else happens
	caKey      = "ca.crt"
	fieldOwner = "holdshort-certs"
)

// injector copies the authority's certificate from its Secret into the caBundle
// of the webhook configuration, whenever one of them changes.
type injector struct {
	client    kubernetes.Interface
	namespace string
	secret    string
	webhook   string
	keeper    *keeper
	wake      chan struct{}

	mu  sync.Mutex
	err error
}

func newInjector(client kubernetes.Interface, o Options, k *keeper) *injector {
	return &injector{
		client: client, namespace: o.Namespace, secret: o.Secret, webhook: o.Webhook,
		keeper: k, wake: make(chan struct{}, 1),
	}
}

func (i *injector) problem() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// run watches the two objects, each by its name: that is all we may read.
func (i *injector) run(ctx context.Context) error {
	secrets := informers.NewSharedInformerFactoryWithOptions(i.client, 0,
		informers.WithNamespace(i.namespace), byName(i.secret))
	configs := informers.NewSharedInformerFactoryWithOptions(i.client, 0, byName(i.webhook))
	secret := secrets.Core().V1().Secrets().Informer()
	config := configs.Admissionregistration().V1().MutatingWebhookConfigurations().Informer()
	for _, informer := range []cache.SharedIndexInformer{secret, config} {
		if _, err := informer.AddEventHandler(i.handler()); err != nil {
			return fmt.Errorf("watching for the caBundle: %w", err)
		}
	}
	for _, factory := range []informers.SharedInformerFactory{secrets, configs} {
		factory.Start(ctx.Done())
		defer factory.Shutdown()
	}
	if !cache.WaitForCacheSync(ctx.Done(), secret.HasSynced, config.HasSynced) {
		return nil // the context ended
	}
	for {
		wait := lookAgain
		err := i.inject(ctx, secret.GetStore(), config.GetStore())
		if err != nil {
			wait = retryAfter
		}
		i.mu.Lock()
		i.err = err
		i.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-i.wake:
		case <-time.After(wait):
		}
	}
}

func (i *injector) handler() cache.ResourceEventHandler {
	wake := func() {
		select {
		case i.wake <- struct{}{}:
		default:
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { wake() },
		UpdateFunc: func(any, any) { wake() },
		DeleteFunc: func(any) { wake() },
	}
}

func byName(name string) informers.SharedInformerOption {
	return informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	})
}

// inject makes every entry of the configuration trust the authority.
func (i *injector) inject(ctx context.Context, secrets, configs cache.Store) error {
	stored, there, err := secrets.GetByKey(i.namespace + "/" + i.secret)
	if err != nil || !there {
		return fmt.Errorf("the authority's secret %s/%s is not there yet", i.namespace, i.secret)
	}
	ca := stored.(*corev1.Secret).Data[caKey]
	stored, there, err = configs.GetByKey(i.webhook)
	if err != nil || !there {
		return fmt.Errorf("there is no MutatingWebhookConfiguration %q. Try: install the chart, or give the name that it has", i.webhook)
	}
	config := stored.(*admissionregistrationv1.MutatingWebhookConfiguration)
	patch, bundle := bundlePatch(config, ca, time.Now())
	if len(patch) > 0 {
		raw, err := json.Marshal(patch)
		if err != nil {
			return fmt.Errorf("writing the patch of the caBundle: %w", err)
		}
		_, err = i.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Patch(
			ctx, i.webhook, types.JSONPatchType, raw, metav1.PatchOptions{FieldManager: fieldOwner})
		if err != nil {
			return fmt.Errorf("writing the caBundle of %s: %w", i.webhook, err)
		}
	}
	i.keeper.trust(bundle)
	return nil
}

// operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// bundlePatch is what to change, and the bundle that all entries have then. It
// holds only for the version of the configuration that was read, since entries
// are addressed by their place.
func bundlePatch(config *admissionregistrationv1.MutatingWebhookConfiguration, ca []byte, now time.Time) ([]operation, []byte) {
	var before []byte
	for n := range config.Webhooks {
		before = append(before, config.Webhooks[n].ClientConfig.CABundle...)
	}
	bundle := merge(before, ca, now)
	patch := []operation{{Op: "test", Path: "/metadata/resourceVersion", Value: config.ResourceVersion}}
	for n := range config.Webhooks {
		if !bytes.Equal(config.Webhooks[n].ClientConfig.CABundle, bundle) {
			patch = append(patch, operation{Op: "add", Path: fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", n), Value: bundle})
		}
	}
	if len(patch) == 1 {
		return nil, bundle
	}
	return patch, bundle
}
