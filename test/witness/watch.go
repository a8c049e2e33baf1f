package witness

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/holdshort/holdshort/test/plane/history"
)

// Witness keeps an Account of a load while it runs.
type Witness struct {
	began time.Time
	stop  func()

	mu      sync.Mutex
	account *Account
}

// Watch from now on, until Stop.
func Watch(ctx context.Context, config *rest.Config, load Load) (*Witness, error) {
	w := &Witness{began: time.Now(), account: NewAccount(load)}
	stop, err := history.Follow(ctx, config, func(e history.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.account.Event(e, w.now())
	})
	if err != nil {
		return nil, err
	}
	w.stop = stop
	return w, nil
}

func (w *Witness) now() time.Duration { return time.Since(w.began) }

// Stop ends the watch; what was counted stays.
func (w *Witness) Stop() { w.stop() }

// Counts until now.
func (w *Witness) Counts() Counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.account.Counts(w.now())
}

// Over tells whether this many Jobs were created and all have ended.
func (w *Witness) Over(jobs int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.account.Over(jobs)
}

// Idles is Account.Idles, by now.
func (w *Witness) Idles() (time.Duration, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.account.Idles(w.now())
}
