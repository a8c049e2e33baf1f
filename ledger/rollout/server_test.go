package rollout

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestWhoAsksIsToldByFilesThatMayChange(t *testing.T) {
	good := archive(t, goodData)
	token := folderWith(t, "token", "t0\n")
	basic := folderWith(t, "username", "ann", "password", "pw")
	server := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if r.Header.Get("Authorization") != "Bearer t1" && user+password != "annpw" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write(good)
	})
	source := server.source(t, token)
	if _, err := source.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("with an old token: %v", err)
	}
	if err := os.WriteFile(filepath.Join(token, "token"), []byte("t1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source.look(t.Context())
	if _, err := source.Read(t.Context()); err != nil {
		t.Errorf("with the new token: %v", err)
	}
	if _, err := server.source(t, basic).Read(t.Context()); err != nil {
		t.Errorf("with a password: %v", err)
	}
}

func TestCredentialsStayWithTheServerTheyAreFor(t *testing.T) {
	good := archive(t, goodData)
	var leaked atomic.Bool
	other := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		leaked.Store(leaked.Load() || r.Header.Get("Authorization") != "" || strings.Contains(r.Header.Get("Referer"), "SECRET"))
		_, _ = w.Write(good)
	})
	server := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/here" {
			gives(good)(w, r)
			return
		}
		to := other.URL
		if r.URL.Query().Get("to") == "here" {
			to = "/here"
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	})
	both := file(t, "ca.crt", content(t, server.ca)+content(t, other.ca))
	get := func(query, credentials string) error {
		source := server.source(t, credentials)
		source.Server.URL.RawQuery, source.Server.CA = query, both
		_, err := source.Read(t.Context())
		return err
	}
	token := folderWith(t, "token", "t")
	if err := get("sig=SECRET", token); err == nil || !strings.Contains(err.Error(), "must not get the credentials") {
		t.Errorf("redirected to another server with a token: %v", err)
	}
	if err := get("to=here", token); err != nil {
		t.Errorf("redirected on the same server: %v", err)
	}
	if err := get("sig=SECRET", ""); err != nil {
		t.Errorf("redirected to another server without credentials: %v", err)
	}
	if leaked.Load() {
		t.Error("the other server saw credentials")
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// clientPair is a certificate for a client, and its key, in PEM.
func clientPair(t *testing.T) (certificate, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "holdshort"}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	pool.AppendCertsFromPEM([]byte(certificate))
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})), pool
}

func TestACertificateSaysWhoAsksAndTheAuthorityWhoAnswers(t *testing.T) {
	certificate, key, pool := clientPair(t)
	server := startServer(t, gives(archive(t, goodData)))
	server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, pool
	if _, err := server.source(t, folderWith(t, "tls.crt", certificate, "tls.key", key)).Read(t.Context()); err != nil {
		t.Errorf("with the certificate: %v", err)
	}
	if _, err := server.source(t, "").Read(t.Context()); err == nil {
		t.Error("without the certificate it answers as well, so this test shows nothing")
	}
	stranger := server.source(t, "")
	stranger.Server.CA = ""
	if _, err := stranger.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority is believed: %v", err)
	}
}

func TestCredentialsThatAreNoneAreNamedAndNotShown(t *testing.T) {
	certificate, _, _ := clientPair(t)
	server := startServer(t, gives(archive(t, goodData)))
	for _, c := range []struct {
		name  string
		files []string
		says  string
	}{
		{"an empty folder", nil, "no credentials in it"},
		{"a token and a name", []string{"token", "SECRET", "username", "SECRET"}, "both token and username"},
		{"a name without a password", []string{"username", "SECRET"}, "only one of username and password"},
		{"a certificate without its key", []string{"tls.crt", certificate}, "tls.crt and tls.key"},
		{"a token with a line feed in it", []string{"token", "SECRET\nSECRET"}, "header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := server.source(t, folderWith(t, c.files...)).Read(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("got %v, want an error with %q and no secret", err, c.says)
			}
		})
	}
	source := server.source(t, "")
	source.Server.CA = file(t, "ca.crt", "x")
	if _, err := source.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "no certificate in it") {
		t.Errorf("an authority that is none: %v", err)
	}
}

func TestWhichAddressesAreTaken(t *testing.T) {
	for _, c := range []struct {
		name, url string
		loopback  bool
		says      string // empty: taken
	}{
		{"https", "https://policy.example/b.tar.gz", false, ""},
		{"http on this machine, allowed", "http://127.0.0.1:8080/b.tar.gz", true, ""},
		{"http on this machine, by name", "http://localhost:8080/b.tar.gz", true, ""},
		{"http on this machine, IPv6", "http://[::1]/b.tar.gz", true, ""},
		{"http on this machine, not allowed", "http://127.0.0.1:8080/b.tar.gz", false, "not https"},
		{"http elsewhere", "http://policy.example/b.tar.gz", true, "not https"},
		{"http at a name that only begins alike", "http://localhost.example/b", true, "not https"},
		{"a file", "file:///etc/policy", true, "no host"},
		{"credentials in it", "https://ann:SECRET@policy.example/b", false, "has credentials in it"},
		{"no URL", "https://a b/SECRET", false, "no URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewServer(c.url, c.loopback)
			if c.says == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "Try:") || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("got %v, want an error with %q, advice and no secret", err, c.says)
			}
		})
	}
}
