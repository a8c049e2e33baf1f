//go:build plane

package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestABundleServerThatGoesBadChangesNothingUntilItIsWellAgain: whatever it answers,
// the last good policy stays in force, people are told, and the next good answer counts.
func TestABundleServerThatGoesBadChangesNothingUntilItIsWellAgain(t *testing.T) {
	ctx, s := scene(t, "bundle", strings.Replace(bundlePolicy, "gpu: 4}", "gpu: 0}", 1))
	t.Cleanup(func() { restart(t, context.Background(), s) })
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked.Store(leaked.Load() || r.Header.Get("Authorization") != "")
	}))
	t.Cleanup(other.Close)
	gives := func(gpus string) http.HandlerFunc {
		files := bundleFiles()
		files["all.data.yaml"] = strings.Replace(bundlePolicy, "gpu: 4}", "gpu: "+gpus+"}", 1)
		packed, tag := packBundle(t, files), `"`+gpus+`"`
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", tag)
			if r.Header.Get("If-None-Match") == tag {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			_, _ = w.Write(packed)
		}
	}
	good := gives("4")
	var answer atomic.Pointer[http.HandlerFunc]
	answer.Store(&good)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*answer.Load())(w, r) }))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "token"), []byte("sesame\n"), 0o600))
	restart(t, ctx, s, "--policy-url", server.URL+"/b.tar.gz", "--policy-loopback-http", "--policy-poll=1s", "--policy-credentials-dir", dir)
	becomes(t, ctx, s, "{.status.active.source} {.status.conditions[?(@.type=='PolicyActive')].status}", `r1" True`)
	first := activeDigest(t, ctx, s.Env)

	for _, c := range []struct {
		name string
		bad  http.HandlerFunc
		says string
	}{
		{"it is overloaded", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "503 Service Unavailable"},
		{"it redirects to another one", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/b.tar.gz", http.StatusFound)
		}, "must not get the credentials"},
		{"it has far too much to give", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000")
			_, _ = w.Write([]byte("x"))
		}, "are taken"},
		{"it lies about what is new", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"new"`)
			_, _ = w.Write([]byte("no bundle at all"))
		}, "not packed by gzip"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer.Store(&c.bad)
			becomes(t, ctx, s, "{.status.candidate.errors}", c.says)
			if now := activeDigest(t, ctx, s.Env); now != first {
				t.Errorf("%s is in force, want %s", now, first)
			}
			answer.Store(&good)
			becomes(t, ctx, s, "[{.status.candidate}] {.status.active.digest}", "[] "+first)
		})
	}
	if leaked.Load() {
		t.Error("the credentials went to another server")
	}
	better := gives("5")
	answer.Store(&better)
	becomes(t, ctx, s, "{.status.previous.digest}", first)
}
