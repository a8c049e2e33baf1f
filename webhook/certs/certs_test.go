package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// issuer is an authority for tests.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newIssuer(t *testing.T, from, to time.Time) issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(from.UnixNano()), Subject: pkix.Name{CommonName: "ca"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return issuer{cert: sign(t, template, template, &key.PublicKey, key), key: key}
}

func sign(t *testing.T, template, parent *x509.Certificate, pub any, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, pub, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func (i issuer) leaf(t *testing.T, to time.Time) *tls.Certificate {
	t.Helper()
	cert := sign(t, &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: start, NotAfter: to}, i.cert, &i.key.PublicKey, i.key)
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, Leaf: cert}
}

func (i issuer) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.cert.Raw})
}

func join(all ...issuer) []byte {
	var out []byte
	for _, i := range all {
		out = append(out, i.pem()...)
	}
	return out
}

func TestMerge(t *testing.T) {
	at := func(hour int) time.Time { return start.Add(time.Duration(hour) * time.Hour) }
	old, older, now := newIssuer(t, at(2), at(100)), newIssuer(t, at(1), at(100)), newIssuer(t, at(3), at(100))
	oldest, expired := newIssuer(t, at(0), at(100)), newIssuer(t, at(0), at(4))
	for _, c := range []struct {
		name       string
		bundle, ca []byte
		want       []byte
	}{
		{"the first authority is the bundle", nil, now.pem(), now.pem()},
		{"a new one comes after the old", old.pem(), now.pem(), join(old, now)},
		{"one that is there is not added again", join(old, now), now.pem(), join(old, now)},
		{"what has expired goes", join(expired, old), now.pem(), join(old, now)},
		{"only the newest are kept", join(oldest, older, old), now.pem(), join(older, old, now)},
		{"what cannot be read goes", append([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\nrubbish\n"), old.pem()...), now.pem(), join(old, now)},
		{"without an authority nothing changes", old.pem(), nil, old.pem()},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := merge(c.bundle, c.ca, at(5))
			if diff := cmp.Diff(string(c.want), string(got)); diff != "" {
				t.Errorf("bundle (-want +got):\n%s", diff)
			}
			if again := merge(got, c.ca, at(5)); !bytes.Equal(again, got) {
				t.Error("merging again changes the bundle: it would be written for ever")
			}
		})
	}
}

func TestBothKindsOfConfigurationArePatched(t *testing.T) {
	ca := newIssuer(t, start, start.Add(time.Hour))
	client := admissionregistrationv1.WebhookClientConfig{CABundle: ca.pem()}
	meta := metav1.ObjectMeta{ResourceVersion: "7"}
	for _, c := range []struct {
		name   string
		target target
		config any
	}{
		{"mutating", mutating(nil, "jobs"), &admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{{ClientConfig: client}, {}},
		}},
		{"validating", validating(nil, "policies"), &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{{ClientConfig: client}, {}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := c.target.read(c.config)
			if diff := cmp.Diff(ca.pem(), found.joined()); diff != "" {
				t.Errorf("the bundles of all entries (-want +got):\n%s", diff)
			}
			want := []operation{
				{Op: "test", Path: "/metadata/resourceVersion", Value: "7"},
				{Op: "add", Path: "/webhooks/1/clientConfig/caBundle", Value: ca.pem()},
			}
			if diff := cmp.Diff(want, found.bundlePatch(ca.pem())); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			found.bundles[1] = ca.pem()
			if patch := found.bundlePatch(ca.pem()); patch != nil {
				t.Errorf("patch %v though every entry has the bundle", patch)
			}
		})
	}
}

func TestTheKeeperHoldsANewLeafBackUntilItIsTrusted(t *testing.T) {
	now := start
	k := &keeper{now: func() time.Time { return now }}
	one, two := newIssuer(t, start, start.Add(time.Hour)), newIssuer(t, start, start.Add(time.Hour))
	first, second := one.leaf(t, start.Add(time.Minute)), two.leaf(t, start.Add(time.Hour))
	if k.choose(first) != first {
		t.Error("the first certificate is not served: there is nothing better")
	}
	if k.check(first) == nil {
		t.Error("healthy though the API server trusts nothing yet")
	}
	k.trust(one.pem())
	if err := k.check(first); err != nil {
		t.Errorf("not healthy: %v", err)
	}
	if k.choose(second) != first {
		t.Error("the second is served before anybody trusts its authority")
	}
	k.trust(join(one, two))
	if k.choose(second) != first {
		t.Error("the second is served before the API server can have seen the bundle")
	}
	now = now.Add(settle)
	k.trust(join(one, two)) // again: does not start the wait anew
	if k.choose(second) != second {
		t.Error("the second is not served though it is trusted by now")
	}
}

func TestAnExpiredLeafIsNotHeldOnTo(t *testing.T) {
	now := start
	k := &keeper{now: func() time.Time { return now }}
	one, two := newIssuer(t, start, start.Add(time.Hour)), newIssuer(t, start, start.Add(time.Hour))
	first, second := one.leaf(t, start.Add(time.Minute)), two.leaf(t, start.Add(time.Hour))
	k.choose(first)
	now = now.Add(2 * time.Minute)
	if k.choose(second) != second {
		t.Error("an expired certificate is served")
	}
	k.trust(join(one, two))
	if k.check(first) == nil {
		t.Error("healthy with an expired certificate")
	}
}

func TestAddressesGoWhereTheyCount(t *testing.T) {
	template := &x509.Certificate{DNSNames: []string{"hs.ns.svc", "127.0.0.1", "::1"}}
	got := withAddresses(template)
	if diff := cmp.Diff([]string{"hs.ns.svc"}, got.DNSNames); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if len(got.IPAddresses) != 2 || got.IPAddresses[0].String() != "127.0.0.1" {
		t.Errorf("addresses %v, want 127.0.0.1 and ::1", got.IPAddresses)
	}
	if len(template.DNSNames) != 3 {
		t.Error("the template that was given has changed")
	}
}
