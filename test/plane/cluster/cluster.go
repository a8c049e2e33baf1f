package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdshort/holdshort/test/plane/binaries"
	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// Cluster is a running plane.
type Cluster struct {
	Dir      string
	Binaries *binaries.Set
	// Configurations for clients. Copy one before changing it.
	Admin, Alice, Bypass *rest.Config
	Client               kubernetes.Interface // the admin's
	Kubelet              *kubelet.Fleet
	AuditLog             string // the file, if Options.Audit was set

	options Options
	port    int // of the API server
	host    string
	caPEM   []byte
	made    *credentials
	claim   *os.File // locked as long as the plane lives
	family  *family
	cancel  context.CancelFunc // ends the fake kubelet
	stop    sync.Once
}

const startAttempts = 3

// Start builds the programs if need be and starts a plane. The context only
// bounds the start; Stop ends the plane.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Log == nil {
		options.Log = io.Discard
	}
	programs, err := binaries.Ensure(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		c, err := startOnce(ctx, options, programs)
		if err == nil {
			return c, nil
		}
		if attempt == startAttempts || !portTaken(err) {
			return nil, fmt.Errorf("starting the plane: %w", err)
		}
	}
}

func startOnce(ctx context.Context, options Options, programs *binaries.Set) (_ *Cluster, err error) {
	dir, claim, err := makeDir(options.Dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, Binaries: programs, options: options, claim: claim, cancel: func() {}}
	if c.family, err = newFamily(dir, !options.Keep); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir), claim.Close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	if err := c.write(); err != nil {
		return nil, err
	}
	if err := c.startPrograms(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Stop ends the plane and removes its directory, unless it is to be kept. It
// may be called more than once.
func (c *Cluster) Stop() error {
	var err error
	c.stop.Do(func() {
		c.cancel()
		c.family.stop()
		if !c.options.Keep {
			err = os.RemoveAll(c.Dir)
		}
		c.claim.Close()
	})
	return err
}

// Failure says which program of the plane has ended, nil if all run.
func (c *Cluster) Failure() error { return c.family.failure() }

// say writes a line of progress.
func (c *Cluster) say(since time.Time, format string, args ...any) {
	fmt.Fprintf(c.options.Log, "plane: %s (%.1f s)\n", fmt.Sprintf(format, args...), time.Since(since).Seconds())
}
