package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdshort/holdshort/policies/engine"
)

// Server is where a bundle is fetched from, and as whom.
type Server struct {
	URL *url.URL
	// Credentials is a folder with the files of a Secret: token, or username and
	// password, or tls.crt and tls.key. They are read anew for each fetch.
	Credentials string
	// CA is a file with the authorities to trust instead of the system's.
	CA string
	// Within is how long a fetch may take; fetchWithin if it is 0.
	Within time.Duration

	// clearLoopback: without TLS, on this machine.
	clearLoopback bool
}

// NewServer checks a URL. One without TLS is taken only if it leads to this very
// machine, and only if loopback says so: whoever can answer in the server's place
// could write the policy.
func NewServer(address string, loopback bool) (Server, error) {
	const try = "Try: https://HOST/PATH/bundle.tar.gz"
	parsed, err := url.Parse(address)
	if err != nil {
		return Server{}, fmt.Errorf("this is no URL. %s", try) // the error would repeat what may be a secret
	}
	if parsed.User != nil {
		return Server{}, errors.New("the URL has credentials in it, where many can read them. Try: a folder with the files username and password")
	}
	if parsed.Host == "" || parsed.Fragment != "" {
		return Server{}, fmt.Errorf("the URL has no host, or has a fragment. %s", try)
	}
	clearText := parsed.Scheme == "http" && loopback && isLoopback(parsed)
	if parsed.Scheme != "https" && !clearText {
		return Server{}, fmt.Errorf("the URL is not https. %s; http is for 127.0.0.1, and only where it is allowed", try)
	}
	return Server{URL: parsed, clearLoopback: clearText}, nil
}

func isLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return ip != nil && ip.IsLoopback() || u.Hostname() == "localhost"
}

// String is the URL as it may be shown: its query can be a secret.
func (s Server) String() string {
	shown := *s.URL
	shown.RawQuery = ""
	return shown.String()
}

// reply of a server.
type reply struct {
	same   bool // as the one with the ETag that was asked with
	etag   string
	bundle engine.Bundle
}

// get fetches the bundle, unless it still has the ETag.
func (s Server) get(ctx context.Context, etag string) (reply, error) {
	within := s.Within
	if within <= 0 {
		within = fetchWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	response, err := s.ask(ctx, etag)
	if err != nil {
		return reply{}, fmt.Errorf("fetching %s: %w", s, plainly{err})
	}
	defer func() { _ = response.Body.Close() }() // read or given up, so there is nothing to lose
	if response.StatusCode == http.StatusNotModified && etag != "" {
		return reply{same: true}, nil
	}
	if err := refusal(response); err != nil {
		return reply{}, fmt.Errorf("fetching %s: %w", s, err)
	}
	archive, err := io.ReadAll(io.LimitReader(response.Body, engine.ArchiveBytesMax+1))
	if err == nil {
		err = ctx.Err() // a server that notices that we gave up may end its answer in order
	}
	if err != nil {
		return reply{}, fmt.Errorf("fetching %s: after %d bytes: %w", s, len(archive), plainly{err})
	}
	bundle, err := engine.ReadArchive(s.String(), archive)
	if err != nil {
		if isAway(err) {
			err = plainly{err}
		}
		return reply{bundle: bundle}, fmt.Errorf("from %s: %w", s, kindOfContent(response, err))
	}
	if name := bundle.Revision(); name != "" {
		bundle.Source += fmt.Sprintf(", revision %.64q", name)
	}
	return reply{etag: tagOf(response), bundle: bundle}, nil
}

// tagMax is how long an ETag may be that is sent back.
const tagMax = 1024

// tagOf is the ETag of an answer; none if it is no short one. Then the bundle is
// fetched each time.
func tagOf(response *http.Response) string {
	tag := response.Header.Get("ETag")
	if len(tag) > tagMax {
		return ""
	}
	return tag
}

// ask sends the request.
func (s Server) ask(ctx context.Context, etag string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL.String(), http.NoBody)
	if err != nil {
		return nil, errors.New("the URL makes no request. Try: https://HOST/PATH/bundle.tar.gz")
	}
	request.Header.Set("User-Agent", "holdshort")
	// OPA's own servers: whole bundles, no changes to earlier ones.
	request.Header.Set("Prefer", "modes=snapshot")
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	transport, secret, err := s.identify(request)
	if err != nil {
		return nil, err
	}
	caller := http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		next.Header.Del("Referer") // it would carry the query on
		return s.follow(next.URL, len(via), secret)
	}}
	response, err := caller.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		return nil, failed.Err // without the URL, which may hold a secret
	}
	return response, err
}

// redirectsMax is how often a server may say that the bundle is elsewhere.
const redirectsMax = 3

// follow says whether a redirect may be followed.
func (s Server) follow(to *url.URL, hops int, secret bool) error {
	shown := outside(to.Scheme+"://"+to.Host, hostMax)
	switch elsewhere := to.Scheme != s.URL.Scheme || !strings.EqualFold(to.Host, s.URL.Host); {
	case hops > redirectsMax:
		return fmt.Errorf("it redirects more than %d times. Try: the URL where the bundle is", redirectsMax)
	case to.Scheme != "https" && (!s.clearLoopback || !isLoopback(to)):
		return fmt.Errorf("it redirects to %s, without TLS. Try: the URL where the bundle is", shown)
	case secret && elsewhere:
		return fmt.Errorf("it redirects to %s, which must not get the credentials of %s. Try: the URL where the bundle is", shown, s.URL.Host)
	}
	return nil
}

// refusal is what is wrong with an answer, going by its head. The code is all that
// is told of its status: the words behind it are the server's own.
func refusal(response *http.Response) error {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode)))
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("the server answers %s. Try: check the credentials", status)
	case http.StatusNotFound:
		return fmt.Errorf("the server answers %s. Try: check the path in the URL", status)
	default:
		return fmt.Errorf("the server answers %s; it is asked again", status)
	}
	if response.ContentLength > engine.ArchiveBytesMax {
		return fmt.Errorf("the server has %d KiB to give, at most %d are taken. Try: a bundle of policy only",
			response.ContentLength>>10, engine.ArchiveBytesMax>>10)
	}
	return nil
}

// kindOfContent adds what a server called its answer: often a page for people.
func kindOfContent(response *http.Response, err error) error {
	kind := response.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "text/") {
		return fmt.Errorf("the server calls it %.60q: %w", kind, err)
	}
	return err
}
