package rollout

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
)

// says is a server's answer, byte by byte as it is given.
func says(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, raw)
		_ = conn.Close()
	}
}

// nasty moves the cursor, hides what follows and does not end.
var nasty = "\x1b[2J\u202e\xff" + strings.Repeat("A", 4000)

// TestWhatAServerWritesIsShownShortAndPlain: whatever part of its answer it is in,
// in the status, the events and the log.
func TestWhatAServerWritesIsShownShortAndPlain(t *testing.T) {
	good := archive(t, goodData)
	for name, c := range map[string]struct {
		do   http.HandlerFunc
		want string
	}{
		"in the status line":       {says("HTTP/1.1 503 " + nasty + "\r\n\r\n"), "the server answers 503 Service Unavailable; it is asked again"},
		"in an odd status":         {says("HTTP/1.1 799 " + nasty + "\r\n\r\n"), "the server answers 799; it is asked again"},
		"instead of a status":      {says(nasty + "\r\n\r\n"), "malformed HTTP response"},
		"in where it redirects":    {says("HTTP/1.1 302 Found\r\nLocation: http://" + strings.Repeat("a", 4000) + "/\r\n\r\n"), "without TLS"},
		"in a redirect to nowhere": {says("HTTP/1.1 302 Found\r\nLocation: ://" + nasty + "\r\n\r\n"), "Location"},
		"in the name of a header":  {says("HTTP/1.1 200 OK\r\n" + nasty + "\r\n\r\n"), "malformed"},
		"in a length":              {says("HTTP/1.1 200 OK\r\nContent-Length: " + nasty + "\r\n\r\n"), "Content-Length"},
		"in the kind of content":   {says("HTTP/1.1 200 OK\r\nContent-Type: text/\u202e" + strings.Repeat("A", 4000) + "\r\n\r\nx"), "not packed by gzip"},
		"in the name of a file":    {gives(archive(t, goodData, "\x1b[2J"+strings.Repeat("b", 99)+"/../x", "")), "a file called"},
		"in a file's problem":      {gives(archive(t, "holdshort: {config: {\"\\x1b[2J\\u202e"+strings.Repeat("c", 900)+"\": 1}}")), "unknown key"},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, gives(good))
			source := server.source(t, "")
			var logged strings.Builder
			cl := cluster(t)
			r := rolloutOn(cl, source)
			r.Log = funcr.New(func(_, args string) { logged.WriteString(args + "\n") }, funcr.Options{})
			r.look(t.Context())
			server.serve(c.do)
			source.look(t.Context())
			r.look(t.Context())
			r.settled(t.Context())
			status := statusOf(t, cl)
			if status.Candidate == nil || len(status.Candidate.Errors) == 0 {
				t.Fatalf("the candidate is %+v, want an error", status.Candidate)
			}
			message := status.Candidate.Errors[0].Message
			if !strings.Contains(message, c.want) {
				t.Errorf("the status says %q, want %q", message, c.want)
			}
			for where, text := range map[string]string{
				"candidate": fmt.Sprint(status.Candidate.Errors), "conditions": fmt.Sprint(status.Conditions), "log": logged.String(),
			} {
				if plain := outside(text, 100_000); len(text) > 4000 || plain != strings.ReplaceAll(text, "\n", `\n`) {
					t.Errorf("the %s has %d bytes: %.5000q", where, len(text), text)
				}
			}
		})
	}
}

// stays looks again, and wants what was in force to be so still.
func (b *bundleServer) stays(t *testing.T, source *HTTP, r *Rollout, when, want string) {
	t.Helper()
	before := r.Engine.Active()
	source.look(t.Context())
	r.look(t.Context())
	if r.Engine.Active() != before {
		t.Errorf("%s: another policy is in force", when)
	}
	if _, err := source.Read(t.Context()); text(err) == "" != (want == "") || !strings.Contains(text(err), want) {
		t.Errorf("%s: %v, want %q", when, err, want)
	}
}

func TestCredentialsGoToNoOtherServer(t *testing.T) {
	var leaked atomic.Int32
	other := startServer(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" || r.Header.Get("Referer") != "" {
			leaked.Add(1)
		}
	})
	for name, to := range map[string]string{
		"another port": other.URL, "another name": strings.Replace(other.URL, "127.0.0.1", "localhost", 1),
		"a user in the URL": strings.Replace(other.URL, "https://", "https://x:y@", 1), "no host": "https:///x", "a file": "file:///etc/passwd",
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, gives(archive(t, goodData)))
			source := server.source(t, folderWith(t, "token", "sesame"))
			r := rolloutOn(cluster(t), source)
			r.look(t.Context())
			server.serve(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", to)
				w.Header().Set("Set-Cookie", "a=b")
				w.WriteHeader(http.StatusTemporaryRedirect)
			})
			server.stays(t, source, r, name, "redirect")
			if leaked.Load() > 0 {
				t.Error("the other server got the credentials")
			}
		})
	}
}

func TestAServerThatLiesAboutItsBundle(t *testing.T) {
	good := archive(t, goodData)
	other := archive(t, strings.Replace(goodData, "4}", "8}", 1))
	notModified := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }
	tagged := func(text []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"one"`)
			_, _ = w.Write(text)
		}
	}
	server := startServer(t, notModified)
	source := server.source(t, "")
	r := rolloutOn(cluster(t), source)
	server.stays(t, source, r, "nothing changed, says a server that gave nothing yet", "304")
	server.serve(tagged(good))
	source.look(t.Context())
	r.look(t.Context())
	if r.Engine.Active() == nil {
		t.Fatal("the good bundle is not in force")
	}
	server.serve(gives(nil))
	server.stays(t, source, r, "an empty answer", "not packed by gzip")
	server.serve(notModified)
	server.stays(t, source, r, "nothing changed, after what was not whole", "304")
	server.serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(good)
	})
	server.stays(t, source, r, "the same bundle, called a picture", "")
	server.serve(tagged(good))
	server.stays(t, source, r, "the same again", "")
	server.serve(notModified)
	server.stays(t, source, r, "nothing changed, which is true", "")
	first := r.Engine.Active().Digest()
	server.serve(tagged(other)) // the ETag of another content
	source.look(t.Context())
	r.look(t.Context())
	if r.Engine.Active().Digest() == first {
		t.Error("other content under the same ETag is not seen")
	}
}

func TestABombIsNotUnpacked(t *testing.T) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	zeros := make([]byte, 1<<20)
	for range 512 {
		if _, err := zip.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	var twice bytes.Buffer
	outer := gzip.NewWriter(&twice)
	if _, err := outer.Write(packed.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := outer.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		do   http.HandlerFunc
		want string
	}{
		"as the bundle": {gives(packed.Bytes()), "unpacks to more than"},
		"as the encoding of the answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(twice.Bytes())
		}, "damaged or no tar"},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, gives(archive(t, goodData)))
			source := server.source(t, "")
			r := rolloutOn(cluster(t), source)
			r.look(t.Context())
			server.serve(c.do)
			begun := time.Now()
			server.stays(t, source, r, name, c.want)
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestAServerThatIsNotTheOneIsNotAsked(t *testing.T) {
	server := startServer(t, gives(archive(t, goodData)))
	other := startServer(t, func(http.ResponseWriter, *http.Request) { t.Error("a server that is not trusted was asked") })
	source := server.source(t, folderWith(t, "token", "sesame"))
	r := rolloutOn(cluster(t), source)
	r.look(t.Context())
	at := func(address, ca string) {
		moved, err := NewServer(address+"/b", false)
		if err != nil {
			t.Fatal(err)
		}
		moved.CA, moved.Credentials = ca, source.Server.Credentials
		source.Server = moved
	}
	at(other.URL, ownAuthority(t))
	server.stays(t, source, r, "an authority that is not ours", "certificate signed by unknown authority")
	at(strings.Replace(other.URL, "127.0.0.1", "localhost", 1), other.ca)
	server.stays(t, source, r, "another name", "x509: certificate is")
	plain, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close() }()
	go func() {
		for {
			conn, err := plain.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nx")
			_ = conn.Close()
		}
	}()
	at("https://"+plain.Addr().String(), server.ca)
	server.stays(t, source, r, "no TLS at all", "HTTP response to HTTPS client")
}

// ownAuthority is a file with an authority that vouches for nobody.
func ownAuthority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nobody"}, IsCA: true,
		NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	made, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "other.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made})))
}

// TestAStormOfErrorsIsAskedEverMoreSeldomAndToldOnce: an hour of a server that is
// down.
func TestAStormOfErrorsIsAskedEverMoreSeldomAndToldOnce(t *testing.T) {
	var asked int
	server := startServer(t, gives(archive(t, goodData)))
	source := server.source(t, "")
	cl := cluster(t)
	r := rolloutOn(cl, source)
	r.look(t.Context())
	r.settled(t.Context())
	server.serve(func(w http.ResponseWriter, _ *http.Request) { asked++; w.WriteHeader(http.StatusServiceUnavailable) })
	var passed time.Duration
	for passed < time.Hour {
		passed += source.pause()
		server.stays(t, source, r, "in the storm", "503")
		r.settled(t.Context())
	}
	if asked > 30 || asked < 10 {
		t.Errorf("asked %d times in an hour, want the pause to grow up to 5 minutes", asked)
	}
	if told := notesOf(t, cl, "PolicySourceUnavailable"); len(told) != 1 {
		t.Errorf("told %d times: %q", len(told), told)
	}
	server.serve(gives(archive(t, strings.Replace(goodData, "4}", "8}", 1))))
	source.look(t.Context())
	if pause := source.pause(); pause > 2*PollDefault {
		t.Errorf("the pause is %s after it is well again", pause)
	}
}
