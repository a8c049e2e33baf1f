package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdshort/holdshort/ledger"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/ledger/scenario"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
	"github.com/holdshort/holdshort/webhook"
)

// Run is the manager: it returns when ctx ends, or with what made it impossible
// to go on.
func Run(ctx context.Context, c Config, logs Logs) error {
	ctrl.SetLogger(logs.Libraries)
	klog.SetLogger(logs.Libraries)
	slog.SetDefault(slog.New(logr.ToSlogHandler(logs.Libraries))) // takes what net/http prints, too
	log := logs.Ours
	config, err := restConfig(c)
	if err != nil {
		return err
	}
	server, err := serverVersion(ctx, config)
	if err != nil {
		return err
	}
	mgr, err := newManager(c, config, logs.Libraries)
	if err != nil {
		return err
	}
	if err := requireCRDs(mgr); err != nil {
		return err
	}
	// A client of its own, past the cache: the ledger knows what it read when.
	live, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	dra, err := lookAround(ctx, mgr.GetRESTMapper(), live, server)
	if err != nil {
		return err
	}
	scope, err := scopeOf(c)
	if err != nil {
		return err
	}
	var loop *ledger.Loop
	gates := newGates(c, func(ctx context.Context) ([]rollout.Live, error) { return loop.Live(ctx) })
	observe, err := addRecorder(c.Decisions, mgr, log)
	if err != nil {
		return err
	}
	policy, err := c.engine(engine.Options{Gates: gates.List(), Observe: observe})
	if err != nil {
		return err
	}
	source, err := policySource(c, mgr.GetCache())
	if err != nil {
		return err
	}
	shadow, err := newShadow(c, source, policy)
	if err != nil {
		return err
	}
	loop, err = addLoop(mgr, ledger.Options{
		Cache: mgr.GetCache(), Client: live, Events: mgr.GetEventRecorder("holdshort"),
		Policy: policy.Active, Shadow: shadow, Scope: scope, PodLevelEarly: podLevelEarly(server), DRA: dra, Now: time.Now, Log: log.WithName("ledger"),
	})
	if err != nil {
		return err
	}
	policy.Subscribe(func(*engine.Revision) { loop.PolicyChanged() })
	if err := addRollout(c, mgr, source, live, policy, gates, shadow, log); err != nil {
		return err
	}
	if err := addWebhook(c, mgr, source, func() webhook.Policy { return activePolicy(policy, shadow) }, scope, clusterLookup{mgr.GetCache(), policy.Active, podLevelEarly(server), dra}, logs, loop); err != nil {
		return err
	}
	return portHint(mgr.Start(ctx))
}

func newGates(c Config, live func(context.Context) ([]rollout.Live, error)) *rollout.Gates {
	return &rollout.Gates{
		RequireTests: c.RequirePolicyTests, Approval: c.PolicyApproval, HarmedPercentMax: int64(c.PolicyHarmedPercent),
		Scenarios: func(ctx context.Context, bundle engine.Bundle, within time.Duration) ([]testrun.Result, error) {
			return scenario.Run(ctx, bundle, scenario.Options{Within: within})
		},
		Live: live,
	}
}

// addLoop makes the ledger's loop, runs it, and has the manager's health depend on it.
func addLoop(mgr manager.Manager, o ledger.Options) (*ledger.Loop, error) {
	starts, err := ledger.NewStartMetrics(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	audits, err := ledger.NewAuditMetrics(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	o.Starts, o.Audits = starts, audits
	loop := ledger.New(o)
	if err := mgr.Add(manager.RunnableFunc(loop.Start)); err != nil {
		return nil, err
	}
	return loop, mgr.AddHealthzCheck("alive", func(*http.Request) error { return loop.Healthy() })
}

// restConfig loads the identity to act as.
func restConfig(c Config) (*rest.Config, error) {
	var config *rest.Config
	var err error
	if c.Kubeconfig == "" {
		config, err = rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("this does not run inside a cluster: %w. Try: --kubeconfig FILE", err)
		}
	} else {
		config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("loading kubeconfig %s: %w. Try: kubectl --kubeconfig %s version", c.Kubeconfig, err, c.Kubeconfig)
		}
	}
	// The API server's own fairness paces us; a second brake here would only
	// make admissions late.
	config.QPS = -1
	return config, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, v1alpha1.AddToScheme(scheme)
}

func newManager(c Config, config *rest.Config, log logr.Logger) (manager.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	watched := ledger.CacheOptions()
	watched[&corev1.ConfigMap{}] = cache.ByObject{
		Namespaces: map[string]cache.Config{c.Namespace: {}},
		// Their managed fields tell what of a policy is none of Helm's.
		Transform: func(object any) (any, error) { return object, nil },
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: scheme, Logger: log,
		Cache: cache.Options{
			ByObject:         watched,
			DefaultTransform: cache.TransformStripManagedFields(),
		},
		Metrics:                metricsserver.Options{BindAddress: c.MetricsAddress},
		HealthProbeBindAddress: c.HealthAddress,
	})
	if err != nil {
		return nil, portHint(fmt.Errorf("setting up: %w", err))
	}
	return mgr, nil
}

func scopeOf(c Config) (intake.Scope, error) {
	scope := intake.Scope{OwnNamespace: c.Namespace}
	if c.ManagedNamespaces == nil {
		return scope, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(c.ManagedNamespaces)
	if err != nil {
		return scope, fmt.Errorf("managed-namespaces: %w", err)
	}
	scope.ManagedNamespaces = selector
	return scope, nil
}

func addRollout(c Config, mgr manager.Manager, source rollout.Source, live client.Client, policy *engine.Engine, gates *rollout.Gates, shadow *rollout.Shadow, log logr.Logger) error {
	if err := metrics.Registry.Register(rollout.NewRevisionInfo(policy.Active)); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	counts, err := rollout.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	kept := func(which string) rollout.Kept {
		return rollout.Kept{Client: live, Name: types.NamespacedName{Namespace: c.Namespace, Name: c.Name + "-policy-" + which}}
	}
	r := &rollout.Rollout{
		Engine: policy, Gates: gates, Source: source, Kept: kept("active"), Before: kept("previous"),
		Client: live, Cache: mgr.GetCache(), Metrics: counts, Shadow: shadow, Log: log.WithName("policy"), Now: time.Now,
	}
	return mgr.Add(manager.RunnableFunc(r.Start))
}
