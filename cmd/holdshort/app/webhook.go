package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdshort/holdshort/ledger"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/ledger/scenario"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
	"github.com/holdshort/holdshort/webhook"
	"github.com/holdshort/holdshort/webhook/certs"
	"github.com/holdshort/holdshort/webhook/policycheck"
)

// addWebhook serves the admission webhook with certificates of our own making,
// and tells when the manager is ready: it has seen the cluster, and the API
// server trusts it. Whether the policy is good does not matter for that: a bad
// one must be fixable.
func addWebhook(c Config, mgr manager.Manager, source rollout.Source, policy func() webhook.Policy, scope intake.Scope, lookup clusterLookup, logs Logs, loop *ledger.Loop) error {
	keeper, err := certs.New(certs.Options{
		Config: mgr.GetConfig(), Namespace: c.Namespace, Secret: c.Name + "-ca",
		Webhook: c.Name + "-jobs", Validating: c.Name + "-policies", Hosts: c.webhookHosts(),
		CADuration: c.CADuration.Duration, LeafDuration: c.CertDuration.Duration,
		Log: logs.Libraries.WithName("certs"),
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(keeper); err != nil {
		return err
	}
	server := ctrlwebhook.NewServer(ctrlwebhook.Options{
		Host: c.WebhookHost, Port: c.WebhookPort,
		TLSOpts: []func(*tls.Config){func(t *tls.Config) { t.GetCertificate = keeper.GetCertificate }},
	})
	server.Register(webhook.Path, &admission.Webhook{Handler: webhook.NewJobs(webhook.Options{
		Policy:     policy,
		Namespace:  lookup.namespace,
		Env:        lookup.env,
		Yield:      loop.Yield,
		Scope:      scope,
		LedgerUser: c.LedgerUser,
		Now:        time.Now,
	})})
	checks := policycheck.Options{Scenarios: func(ctx context.Context, bundle engine.Bundle) ([]testrun.Result, error) {
		return scenario.Run(ctx, bundle, scenario.Options{})
	}}
	if configMaps, ok := source.(rollout.ConfigMaps); ok {
		checks.ConfigMaps = configMaps
	}
	server.Register(policycheck.Path, &admission.Webhook{Handler: policycheck.New(checks)})
	if err := mgr.Add(server); err != nil {
		return err
	}
	ready := func(*http.Request) error {
		if !loop.Synced() {
			return errors.New("the ledger has not seen the whole cluster yet")
		}
		return keeper.Healthy()
	}
	if err := mgr.AddReadyzCheck("ready", ready); err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return tellReady(ctx, ready, logs.Ours) }))
}

// tellReady says once in the log that the manager is ready, for whoever started
// it by hand.
func tellReady(ctx context.Context, ready healthz.Checker, log logr.Logger) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for ready(nil) != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
	log.Info("holdshort is ready")
	return nil
}

// readyPoll is how often readiness is looked at until it is there.
const readyPoll = 100 * time.Millisecond

// webhookHosts are the names that the API server calls the webhook by.
func (c Config) webhookHosts() []string {
	if len(c.WebhookDNSNames) > 0 {
		return c.WebhookDNSNames
	}
	hosts := []string{fmt.Sprintf("%s.%s.svc", c.Name, c.Namespace)}
	if c.Kubeconfig != "" {
		hosts = append(hosts, "localhost")
	}
	return hosts
}

// clusterLookup reads from the manager's cache what the webhook needs to know of
// a namespace.
type clusterLookup struct {
	client.Reader
	policy        func() *engine.Revision
	podLevelEarly bool
	dra           ledger.DRA
}

func (l clusterLookup) namespace(name string) (policies.Namespace, bool) {
	var ns corev1.Namespace
	if err := l.Get(context.Background(), types.NamespacedName{Name: name}, &ns); err != nil {
		return policies.Namespace{}, false
	}
	return policies.Namespace{Name: name, Labels: ns.Labels}, true
}

func (l clusterLookup) env(namespace string) intake.Env {
	env := intake.Env{FirstSeen: time.Now().UnixNano(), RuntimeClass: l.runtimeClass, PriorityClass: l.priorityClass, PodLevelEarly: l.podLevelEarly}
	if revision := l.policy(); revision != nil {
		env.PerDevice = revision.Catalog().Resources.PerDevice
	}
	if l.dra.Claims {
		env.Claims = l.claims().OfJob
	}
	var ranges corev1.LimitRangeList
	if err := l.List(context.Background(), &ranges, client.InNamespace(namespace)); err == nil {
		for i := range ranges.Items {
			env.LimitRanges = append(env.LimitRanges, &ranges.Items[i])
		}
	}
	return env
}

// claims are only charged here: which machines have room is not asked.
func (l clusterLookup) claims() *intake.Claims {
	return &intake.Claims{
		Template: func(namespace, name string) *resourceapi.ResourceClaimTemplate {
			return find(l, namespace, name, &resourceapi.ResourceClaimTemplate{})
		},
		Claim: func(namespace, name string) *resourceapi.ResourceClaim {
			return find(l, namespace, name, &resourceapi.ResourceClaim{})
		},
		Class: func(name string) *resourceapi.DeviceClass { return find(l, "", name, &resourceapi.DeviceClass{}) },
	}
}

func find[T client.Object](l clusterLookup, namespace, name string, into T) T {
	if err := l.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name}, into); err != nil {
		var none T
		return none
	}
	return into
}

func (l clusterLookup) runtimeClass(name string) *nodev1.RuntimeClass {
	var class nodev1.RuntimeClass
	if l.Get(context.Background(), types.NamespacedName{Name: name}, &class) != nil {
		return nil
	}
	return &class
}

// priorityClass finds a class by name, or the global default for the empty name.
func (l clusterLookup) priorityClass(name string) *schedulingv1.PriorityClass {
	if name != "" {
		var class schedulingv1.PriorityClass
		if l.Get(context.Background(), types.NamespacedName{Name: name}, &class) != nil {
			return nil
		}
		return &class
	}
	var classes schedulingv1.PriorityClassList
	if l.List(context.Background(), &classes) != nil {
		return nil
	}
	return intake.GlobalDefault(func(yield func(*schedulingv1.PriorityClass) bool) {
		for i := range classes.Items {
			if !yield(&classes.Items[i]) {
				return
			}
		}
	})
}
