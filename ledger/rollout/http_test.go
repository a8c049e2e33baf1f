package rollout

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const goodManifest = `{"revision": "r1", "roots": ["holdshort"], "metadata": {"holdshort": {"contract": 1}}}`

// archive packs the data and the files given as names and texts.
func archive(t testing.TB, data string, more ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	pack := tar.NewWriter(zip)
	files := append([]string{".manifest", goodManifest, "data.yaml", data}, more...)
	for i := 0; i+1 < len(files); i += 2 {
		if err := pack.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(pack, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := pack.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bundleServer serves over TLS; its handler can be replaced.
type bundleServer struct {
	*httptest.Server
	handler atomic.Pointer[http.HandlerFunc]
	ca      string // file
}

func (b *bundleServer) serve(h http.HandlerFunc) { b.handler.Store(&h) }

func startServer(t *testing.T, h http.HandlerFunc) *bundleServer {
	t.Helper()
	b := &bundleServer{}
	b.serve(h)
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*b.handler.Load())(w, r) }))
	b.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are meant to fail
	b.StartTLS()
	t.Cleanup(b.Close)
	b.ca = file(t, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw})))
	return b
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// folderWith has files given as names and texts.
func folderWith(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i+1 < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (b *bundleServer) source(t *testing.T, credentials string) *HTTP {
	t.Helper()
	server, err := NewServer(b.URL+"/bundle.tar.gz?sig=SECRET", false)
	if err != nil {
		t.Fatal(err)
	}
	server.CA, server.Credentials = b.ca, credentials
	return &HTTP{Server: server}
}

func gives(text []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }
}

// withETag is a server that remembers what it gave.
func withETag(t *testing.T, etag string, text []byte, asked *atomic.Int32) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Prefer") != "modes=snapshot" {
			t.Errorf("the request does not ask for snapshots: %v", r.Header)
		}
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			asked.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(text)
	}
}

func TestAnUnchangedBundleIsNotFetchedAgain(t *testing.T) {
	var same atomic.Int32
	server := startServer(t, withETag(t, `W/"one"`, archive(t, goodData), &same))
	source := server.source(t, "")
	first, err := source.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := server.URL + `/bundle.tar.gz, revision "r1"`; first.Source != want {
		t.Errorf("source %q, want %q", first.Source, want)
	}
	if source.look(t.Context()) {
		t.Error("the same bundle counts as changed")
	}
	if _, err := source.Read(t.Context()); err != nil || same.Load() != 1 {
		t.Errorf("%v; the server could say %d times that nothing changed, want once", err, same.Load())
	}
	server.serve(withETag(t, `"two"`, archive(t, strings.Replace(goodData, "4}", "8}", 1)), &same))
	if !source.look(t.Context()) {
		t.Error("another bundle does not count as changed")
	}
	if second, err := source.Read(t.Context()); err != nil || second.Digest() == first.Digest() {
		t.Errorf("%v, or still the first bundle", err)
	}
}

// TestWhatAServerDoesWrongIsToldAndChangesNothing: each case is fetched after a
// good bundle.
func TestWhatAServerDoesWrongIsToldAndChangesNothing(t *testing.T) {
	good := archive(t, goodData)
	cases := []struct {
		name string
		do   http.HandlerFunc
		says string
	}{
		{"an error of the server", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "SECRET", http.StatusBadGateway) }, "502 Bad Gateway; it is asked again"},
		{"credentials that are wrong", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "Try: check the credentials"},
		{"no such file", http.NotFound, "Try: check the path"},
		{"half of the bundle", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(good)
		}, "unexpected EOF"},
		{"a bundle that was cut before", gives(good[:len(good)-9]), "damaged"},
		{"too much, and says so", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000")
		}, "at most 4096 are taken"},
		{"too much, without an end", func(w http.ResponseWriter, _ *http.Request) {
			for block := make([]byte, 64<<10); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, "more than 4096 KiB"},
		{"an answer byte by byte", func(w http.ResponseWriter, r *http.Request) {
			for _, b := range good {
				_, _ = w.Write([]byte{b})
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}, "deadline exceeded"},
		{"no answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "deadline exceeded"},
		{"a page for people", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>log in</html>")
		}, `"text/html": reading the bundle: it is not packed by gzip`},
		{"nothing changed, though nobody asked", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, "304"},
		{"a redirect without TLS", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1/x?k=SECRET", http.StatusFound)
		}, "redirects to http://127.0.0.1, without TLS"},
		{"redirects without an end", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }, "more than 3 times"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server := startServer(t, gives(good))
			cl := cluster(t)
			source := server.source(t, "")
			r := rolloutOn(cl, source)
			r.look(t.Context())
			active := r.Engine.Active()
			if active == nil {
				t.Fatalf("the good bundle is not in force: %v", source.err)
			}
			server.serve(c.do)
			if strings.HasPrefix(c.says, "deadline") {
				source.Server.Within = 300 * time.Millisecond
			}
			if !source.look(t.Context()) {
				t.Error("the failure is not told")
			}
			r.look(t.Context())
			if r.Engine.Active() != active {
				t.Error("another policy is in force")
			}
			_, err := source.Read(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("got %v, want an error with %q and no secret", err, c.says)
			}
			server.serve(gives(good))
			source.Server.Within = 0
			if !source.look(t.Context()) {
				t.Error("that the server is well again is not told")
			}
			if _, err := source.Read(t.Context()); err != nil {
				t.Errorf("the server is well again, but: %v", err)
			}
		})
	}
}

func TestADeltaFromAServerIsRefused(t *testing.T) {
	server := startServer(t, gives(archive(t, goodData, "patch.json", `{"data": []}`)))
	c := cluster(t)
	r := rolloutOn(c, server.source(t, ""))
	r.look(t.Context())
	if notes := rejections(t, c); r.Engine.Active() != nil || len(notes) != 1 || !strings.Contains(notes[0], "delta") {
		t.Errorf("events %q, want one about a delta and no policy in force", notes)
	}
}

func TestAServerThatFailsIsAskedLessAndLess(t *testing.T) {
	h := &HTTP{Poll: 10 * time.Second}
	var last time.Duration
	for _, c := range []struct {
		failures int
		want     time.Duration
	}{{0, 10 * time.Second}, {1, 2 * time.Second}, {2, 4 * time.Second}, {7, 128 * time.Second}, {8, 256 * time.Second}, {9, retryMax}, {1000, retryMax}} {
		h.failures = c.failures
		for range 20 {
			got := h.pause()
			if low, high := c.want*8/10, c.want*12/10; got < low || got > high {
				t.Errorf("after %d failures %v, want about %v", c.failures, got, c.want)
			}
			if got == last {
				t.Error("two pauses are equal: all managers would ask at the same moment")
			}
			last = got
		}
	}
	slow := &HTTP{Poll: time.Hour, failures: 30}
	if got := slow.pause(); got < 40*time.Minute {
		t.Errorf("who asks once an hour asks after %v when it fails", got)
	}
}

func TestTheLastGoodBundleIsInForceAfterARestartWithTheServerGone(t *testing.T) {
	server := startServer(t, gives(archive(t, goodData)))
	c := cluster(t)
	r := rolloutOn(c, server.source(t, ""))
	r.look(t.Context())
	if !r.settled(t.Context()) {
		t.Fatal("not kept")
	}
	digest := r.Engine.Active().Digest()
	server.Close()
	again := rolloutOn(c, server.source(t, ""))
	if err := again.restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	again.look(t.Context())
	if active := again.Engine.Active(); active == nil || active.Digest() != digest {
		t.Errorf("in force is %v, want %s", active, digest)
	}
}

func TestAServerIsWatched(t *testing.T) {
	server := startServer(t, gives(archive(t, goodData)))
	source := server.source(t, "")
	source.Poll = 10 * time.Millisecond
	if _, err := source.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	changes, ended := make(chan struct{}, 100), make(chan error)
	go func() { ended <- source.Watch(ctx, func() { changes <- struct{}{} }) }()
	server.serve(gives(archive(t, strings.Replace(goodData, "4}", "8}", 1))))
	select {
	case <-changes:
	case <-time.After(10 * time.Second):
		t.Error("no change was seen")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
