package certs

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
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
// of the webhook configurations, whenever one of them changes.
type injector struct {
	client    kubernetes.Interface
	namespace string
	secret    string
	targets   []target
	keeper    *keeper
	wake      chan struct{}

	mu  sync.Mutex
	err error
}

func newInjector(client kubernetes.Interface, o Options, k *keeper) *injector {
	i := &injector{
		client: client, namespace: o.Namespace, secret: o.Secret,
		targets: []target{mutating(client, o.Webhook)},
		keeper:  k, wake: make(chan struct{}, 1),
	}
	if o.Validating != "" {
		i.targets = append(i.targets, validating(client, o.Validating))
	}
	return i
}

func (i *injector) problem() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// run watches each object by its name: that is all we may read.
func (i *injector) run(ctx context.Context) error {
	secrets := informers.NewSharedInformerFactoryWithOptions(i.client, 0,
		informers.WithNamespace(i.namespace), byName(i.secret))
	secret := secrets.Core().V1().Secrets().Informer()
	factories, watched := []informers.SharedInformerFactory{secrets}, []cache.SharedIndexInformer{secret}
	stores := make([]cache.Store, len(i.targets))
	for n, t := range i.targets {
		factory := informers.NewSharedInformerFactoryWithOptions(i.client, 0, byName(t.name))
		informer := t.informer(factory)
		factories, watched, stores[n] = append(factories, factory), append(watched, informer), informer.GetStore()
	}
	for _, informer := range watched {
		if _, err := informer.AddEventHandler(i.handler()); err != nil {
			return fmt.Errorf("watching for the caBundle: %w", err)
		}
	}
	for _, factory := range factories {
		factory.Start(ctx.Done())
		defer factory.Shutdown()
	}
	// What is not required is taken up when it is seen.
	if !cache.WaitForCacheSync(ctx.Done(), secret.HasSynced, watched[1].HasSynced) {
		return nil // the context ended
	}
	for {
		wait := lookAgain
		err := i.inject(ctx, secret.GetStore(), stores)
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

// inject makes every entry of the configurations trust the authority. They all
// get one bundle, for one certificate is served to all.
func (i *injector) inject(ctx context.Context, secrets cache.Store, configs []cache.Store) error {
	stored, there, err := secrets.GetByKey(i.namespace + "/" + i.secret)
	if err != nil || !there {
		return fmt.Errorf("the authority's secret %s/%s is not there yet", i.namespace, i.secret)
	}
	var present []found
	var before []byte
	for n, t := range i.targets {
		stored, there, err := configs[n].GetByKey(t.name)
		if err != nil || !there {
			if t.required {
				return fmt.Errorf("there is no %s %q. Try: install the chart, or give the name that it has", t.kind, t.name)
			}
			continue
		}
		one := t.read(stored)
		present, before = append(present, one), append(before, one.joined()...)
	}
	bundle := merge(before, stored.(*corev1.Secret).Data[caKey], time.Now())
	var failed error
	for _, one := range present {
		if err := one.write(ctx, bundle); err != nil && one.required {
			return err
		} else if err != nil {
			failed = err
		}
	}
	i.keeper.trust(bundle)
	return failed
}
