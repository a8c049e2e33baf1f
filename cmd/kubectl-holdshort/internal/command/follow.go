package command

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
)

// reopenDelay is between two watches, so that a server that closes each at once
// is not asked in a hot loop.
const reopenDelay = time.Second

// follower shows every change from a resource version on.
type follower struct {
	open func(version string) (watch.Interface, error)
	show func(object runtime.Object, deleted bool) error
}

// follow runs until the context ends or the watch cannot go on. The API server
// closes a watch every few minutes; it is opened again where it stopped.
func (f follower) follow(ctx context.Context, version string) error {
	for {
		w, err := f.open(version)
		if err == nil {
			version, err = f.drain(ctx, w, version)
			w.Stop()
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // whoever watched has seen enough
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reopenDelay):
		}
	}
}

// drain shows what one watch brings and returns where it ended.
func (f follower) drain(ctx context.Context, w watch.Interface, version string) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return version, ctx.Err()
		case event, open := <-w.ResultChan():
			if !open {
				return version, nil
			}
			if event.Type == watch.Error {
				return version, watchFailure(apierrors.FromObject(event.Object))
			}
			if object, err := meta.Accessor(event.Object); err == nil {
				version = object.GetResourceVersion()
			}
			if event.Type == watch.Bookmark {
				continue
			}
			if err := f.show(event.Object, event.Type == watch.Deleted); err != nil {
				return version, err
			}
		}
	}
}

func watchFailure(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return failure.New("the same command again", "the watch ended: the API server no longer has the changes since then")
	}
	return fmt.Errorf("watching: %w", err)
}

// news is what was said of each object, so that nothing is said twice.
type news map[string]string

// news tells whether a row says something else than the last of its object.
func (n news) news(key string, row any) bool {
	text, err := json.Marshal(row)
	if err == nil && n[key] == string(text) {
		return false
	}
	n[key] = string(text)
	return true
}
