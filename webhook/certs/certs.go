package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	servertls "github.com/cert-manager/cert-manager/pkg/server/tls"
	"github.com/cert-manager/cert-manager/pkg/server/tls/authority"
	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Options of the certificates.
type Options struct {
	Config *rest.Config
	// Namespace and Secret hold the authority; it is made if it is not there.
	Namespace, Secret string
	// Webhook is the name of the MutatingWebhookConfiguration.
	Webhook string
	// Validating is the name of the ValidatingWebhookConfiguration. Readiness does
	// not wait for it. Empty: there is none.
	Validating string
	// Hosts that the API server calls us by: names and addresses.
	Hosts []string
	// CADuration and LeafDuration; 0 means a year and a week. Both are renewed
	// after two thirds; the authority is looked at every 10 seconds.
	CADuration, LeafDuration time.Duration
	Log                      logr.Logger
}

// Certs makes, serves and announces the webhook's certificates. It is a
// Runnable of controller-runtime's manager.
type Certs struct {
	source   *servertls.DynamicSource
	injector *injector
	keeper   *keeper
	log      logr.Logger
}

// New checks the options; nothing is written before Start.
func New(o Options) (*Certs, error) {
	switch {
	case o.Namespace == "" || o.Secret == "" || o.Webhook == "":
		return nil, errors.New("certificates need a namespace, a secret and the name of the webhook configuration")
	case len(o.Hosts) == 0:
		return nil, errors.New("certificates need at least one host that the API server calls us by")
	}
	client, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("making a client for certificates: %w", err)
	}
	keeper := &keeper{now: time.Now}
	return &Certs{
		source: &servertls.DynamicSource{
			DNSNames: o.Hosts,
			Authority: anyHost{&authority.DynamicAuthority{
				SecretNamespace: o.Namespace,
				SecretName:      o.Secret,
				SecretLabels:    map[string]string{"app.kubernetes.io/managed-by": "holdshort"},
				RESTConfig:      o.Config,
				CommonName:      "holdshort-webhook-ca",
				CADuration:      o.CADuration,
				LeafDuration:    o.LeafDuration,
			}},
		},
		injector: newInjector(client, o, keeper),
		keeper:   keeper,
		log:      o.Log,
	}, nil
}

// Start runs until the context ends.
func (c *Certs) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(logr.NewContext(ctx, c.log))
	group.Go(func() error { return c.source.Start(ctx) })
	group.Go(func() error { return c.injector.run(ctx) })
	if err := group.Wait(); err != nil {
		return fmt.Errorf("keeping the webhook's certificates: %w", err)
	}
	return nil
}

// NeedLeaderElection says no: every replica serves.
func (c *Certs) NeedLeaderElection() bool { return false }

// GetCertificate is for tls.Config.
func (c *Certs) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	newest, err := c.source.GetCertificate(hello)
	if err != nil {
		return nil, err
	}
	return c.keeper.choose(newest), nil
}

// Healthy is nil once there is a certificate that the API server trusts; for
// readiness.
func (c *Certs) Healthy() error {
	newest, err := c.source.GetCertificate(nil)
	if err != nil {
		return fmt.Errorf("no certificate for the webhook yet: %w", err)
	}
	if err := c.keeper.check(newest); err != nil {
		return errors.Join(err, c.injector.problem())
	}
	return nil
}
