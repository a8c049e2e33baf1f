package rollout

import (
	"context"
	"time"

	"github.com/holdshort/holdshort/policies/engine"
)

// Source is where a bundle is kept.
type Source interface {
	// Read returns the bundle as it is now.
	Read(context.Context) (engine.Bundle, error)
	// Watch calls changed whenever the bundle may be another one, until ctx ends.
	Watch(ctx context.Context, changed func()) error
}

// folderPoll is how often a folder is looked at. Looking is cheap, and unlike
// file notifications it sees through symbolic links and network mounts.
const folderPoll = time.Second

// Folder is a bundle in a folder.
type Folder string

// Read implements Source.
func (f Folder) Read(context.Context) (engine.Bundle, error) {
	bundle, err := engine.ReadDir(string(f))
	if err != nil {
		bundle.Source = "folder " + string(f)
	}
	return bundle, err
}

// Watch implements Source.
func (f Folder) Watch(ctx context.Context, changed func()) error {
	tick := time.NewTicker(folderPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			changed()
		}
	}
}
