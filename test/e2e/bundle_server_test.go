//go:build plane

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	opabundle "github.com/open-policy-agent/opa/v1/bundle"

	"github.com/holdshort/holdshort/test/stories"
)

const bundlePolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      bundle:
        namespaces: {names: [bundle]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
`

// bundleFiles are a bundle without its signature. The data file has a name that
// is hashed byte by byte.
func bundleFiles() map[string]string {
	return map[string]string{
		".manifest":     `{"revision":"r1","roots":["holdshort"],"metadata":{"holdshort":{"contract":1}}}`,
		"all.data.yaml": bundlePolicy,
	}
}

// signBundle makes .signatures.json with a key in PEM.
func signBundle(t *testing.T, files map[string]string, key string) string {
	t.Helper()
	hasher, err := opabundle.NewSignatureHasher(opabundle.SHA256)
	must(t, err)
	var manifest any
	must(t, json.Unmarshal([]byte(files[".manifest"]), &manifest))
	manifestSum, err := hasher.HashFile(manifest)
	must(t, err)
	dataSum := sha256.Sum256([]byte(files["all.data.yaml"]))
	infos := []opabundle.FileInfo{
		opabundle.NewFile(".manifest", hex.EncodeToString(manifestSum), "SHA-256"),
		opabundle.NewFile("all.data.yaml", hex.EncodeToString(dataSum[:]), "SHA-256"),
	}
	token, err := opabundle.GenerateSignedToken(infos, opabundle.NewSigningConfig(key, "ES256", ""), "release")
	must(t, err)
	text, err := json.Marshal(opabundle.SignaturesConfig{Signatures: []string{token}})
	must(t, err)
	return string(text)
}

func packBundle(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	pack := tar.NewWriter(zip)
	for name, text := range files {
		must(t, pack.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := pack.Write([]byte(text))
		must(t, err)
	}
	must(t, pack.Close())
	must(t, zip.Close())
	return out.Bytes()
}

// TestAPolicyOfAServerIsBelievedOnlyWithItsSignature: a signed bundle starts a
// Job; a tampered one changes nothing; with the server gone, a new manager goes
// on with the last good one.
func TestAPolicyOfAServerIsBelievedOnlyWithItsSignature(t *testing.T) {
	ctx, s := scene(t, "bundle", strings.Replace(bundlePolicy, "gpu: 4}", "gpu: 0}", 1))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	must(t, err)
	files := bundleFiles()
	files[".signatures.json"] = signBundle(t, files, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))

	var served atomic.Pointer[[]byte]
	serve := func(files map[string]string) { packed := packBundle(t, files); served.Store(&packed) }
	serve(files)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write(*served.Load())
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write := func(name string, text []byte) { must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600)) }
	write("token", []byte("sesame\n"))
	write("ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	write("release.pem", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))

	s.Manager.Kill()
	s.Manager.Args = []string{
		"--policy-url", server.URL + "/b.tar.gz", "--policy-poll=1s", "--policy-credentials-dir", dir, "--policy-ca-file", filepath.Join(dir, "ca.crt"),
		"--policy-keys-dir", dir, "--policy-signature-required",
	}
	t.Cleanup(func() { // the other tests' policy is in ConfigMaps
		s.Manager.Kill()
		s.Manager.Args = nil
		if err := s.Manager.Start(context.Background()); err != nil {
			t.Error(err)
		}
	})
	must(t, s.Manager.Start(ctx))
	must(t, stories.Eventually(ctx, 20*time.Second, "the server's policy is in force", func(ctx context.Context) (bool, string) {
		return rolloutSays(ctx, s.Env, "{.status.active.source} {.status.conditions[?(@.type=='PolicyActive')].status}", `r1" True`)
	}))
	good := activeDigest(t, ctx, s.Env)
	_, err = s.Apply(ctx, job{name: "first", queue: "bundle", pods: 2, gpus: 1, run: "5m"}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "first", 2))

	tampered := bundleFiles()
	tampered[".signatures.json"] = files[".signatures.json"]
	tampered["all.data.yaml"] = strings.Replace(bundlePolicy, "gpu: 4}", "gpu: 64}", 1)
	serve(tampered)
	must(t, stories.Eventually(ctx, 20*time.Second, "the tampered bundle is refused", func(ctx context.Context) (bool, string) {
		return rolloutSays(ctx, s.Env, "{.status.candidate.errors}", "not as it was signed")
	}))
	inForceStill := func(when string) {
		t.Helper()
		if now := activeDigest(t, ctx, s.Env); now != good {
			t.Errorf("%s %s is in force, want %s", when, now, good)
		}
	}
	inForceStill("after a tampered bundle")

	server.Close()
	s.Manager.Kill()
	must(t, s.Manager.Start(ctx))
	must(t, stories.Eventually(ctx, 20*time.Second, "it is told that the server is gone", func(ctx context.Context) (bool, string) {
		return rolloutSays(ctx, s.Env, "{.status.candidate.errors}", fmt.Sprintf("fetching %s", server.URL))
	}))
	inForceStill("with the server gone")
	if _, got := rolloutSays(ctx, s.Env, "{.status.candidate.verdict}/{.status.candidate.digest}", ""); got != "Unavailable/" {
		t.Errorf("the candidate is %s, want that the source is unavailable, without a digest", got)
	}
	if out := policyCommand(t, ctx, s.Env, "status"); !strings.Contains(out, "source     unavailable for ") || !strings.Contains(out, "stays in force") {
		t.Errorf("policy status prints:\n%s", out)
	}
	_, err = s.Apply(ctx, job{name: "second", queue: "bundle", pods: 2, gpus: 1, run: "5m"}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "second", 2))
}
