package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync"
	"time"
)

// settle is how long the API server may take to see a changed configuration.
const settle = 3 * time.Second

// errNotTrusted is the state before the first injection.
var errNotTrusted = errors.New("the API server does not trust the webhook's certificate yet")

// keeper chooses the certificate to serve: the newest one, once the authority
// that signed it has been in the caBundle for a while, until then the last one
// that was good.
type keeper struct {
	now func() time.Time

	mu      sync.Mutex
	trusted []trust
	serving *tls.Certificate
}

// trust is an authority in the caBundle, and since when.
type trust struct {
	ca    *x509.Certificate
	since time.Time
}

// trust takes over what the caBundle says now.
func (k *keeper) trust(bundle []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.trusted
	k.trusted = nil
	for _, ca := range parse(bundle) {
		since := k.now()
		for _, known := range before {
			if known.ca.Equal(ca) {
				since = known.since
			}
		}
		k.trusted = append(k.trusted, trust{ca: ca, since: since})
	}
}

// choose returns what to serve, given the newest certificate.
func (k *keeper) choose(newest *tls.Certificate) *tls.Certificate {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.serving == newest {
		return newest
	}
	usable := k.serving != nil && k.serving.Leaf != nil && k.now().Before(k.serving.Leaf.NotAfter)
	if !usable || k.trustedFor(newest, settle) {
		k.serving = newest
	}
	return k.serving
}

// check tells whether the API server can talk to us with this certificate.
func (k *keeper) check(newest *tls.Certificate) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if newest.Leaf != nil && k.now().After(newest.Leaf.NotAfter) {
		return errors.New("the webhook's certificate has expired")
	}
	if !k.trustedFor(newest, 0) {
		return errNotTrusted
	}
	return nil
}

func (k *keeper) trustedFor(c *tls.Certificate, atLeast time.Duration) bool {
	if c.Leaf == nil {
		return false
	}
	for _, t := range k.trusted {
		if k.now().Sub(t.since) >= atLeast && c.Leaf.CheckSignatureFrom(t.ca) == nil {
			return true
		}
	}
	return false
}
