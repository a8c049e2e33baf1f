package rollout

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/holdshort/holdshort/policies/engine"
)

const (
	// PollDefault is how often a server is asked whether its bundle changed.
	PollDefault = time.Minute
	// A server that fails is asked again after a time that doubles, from the
	// first of these to the second, or to the usual one where that is longer.
	firstRetry = 2 * time.Second
	retryMax   = 5 * time.Minute
	// fetchWithin is how long an answer may take, to its last byte.
	fetchWithin = 30 * time.Second
	// jitter is the part of a pause that is left to chance, so that the managers
	// of many clusters don't ask at the same moment.
	jitter = 0.2
)

// HTTP is an OPA bundle on a server. What it gave last stays known, so that
// looking at it costs nothing between two fetches.
type HTTP struct {
	Server Server
	// Poll is the pause between two fetches; PollDefault if it is 0.
	Poll time.Duration

	mu       sync.Mutex
	fetched  bool
	etag     string
	bundle   engine.Bundle // the last one that was whole
	refused  engine.Bundle // what came with err; empty if nothing could be read
	err      error         // of the last fetch
	failures int           // fetches that failed since the last good one
}

// Read implements Source.
func (h *HTTP) Read(ctx context.Context) (engine.Bundle, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.fetched {
		h.fetch(ctx)
	}
	if h.err != nil {
		return engine.Bundle{Source: h.Server.String(), Files: h.refused.Files}, h.err
	}
	return h.bundle, nil
}

// Watch implements Source.
func (h *HTTP) Watch(ctx context.Context, changed func()) error {
	for sleep(ctx, h.pause()) {
		if h.look(ctx) {
			changed()
		}
	}
	return nil
}

// look fetches, and says whether Read has something else to tell now.
func (h *HTTP) look(ctx context.Context) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, told := h.bundle.Fingerprint(), text(h.err)
	h.fetch(ctx)
	return h.bundle.Fingerprint() != before || text(h.err) != told
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (h *HTTP) fetch(ctx context.Context) {
	got, err := h.Server.get(ctx, h.etag)
	if ctx.Err() != nil {
		return // it says nothing about the server
	}
	h.fetched, h.err, h.refused = true, err, engine.Bundle{}
	if err != nil {
		// What was not whole must come again, whatever its ETag.
		h.failures++
		h.etag, h.refused = "", got.bundle
		return
	}
	h.failures = 0
	if got.same {
		return
	}
	h.etag, h.bundle = got.etag, got.bundle
}

// pause until the next fetch.
func (h *HTTP) pause() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	poll := h.Poll
	if poll <= 0 {
		poll = PollDefault
	}
	wait := poll
	if h.failures > 0 {
		wait = min(firstRetry<<min(h.failures-1, 20), max(poll, retryMax))
	}
	return shaken(wait)
}

// shaken is a duration, more or less.
func shaken(d time.Duration) time.Duration {
	var bytes [4]byte
	_, _ = rand.Read(bytes[:]) // never fails
	part := float64(binary.NativeEndian.Uint32(bytes[:])) / (1 << 32)
	return time.Duration(float64(d) * (1 + jitter*(2*part-1)))
}
