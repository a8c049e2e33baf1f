package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/plane/filelock"
)

func TestALockHasOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Wait(t.Context(), path, func() { t.Error("nobody holds it, so there is nothing to wait for") })
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got, err := filelock.Try(second); err != nil || got {
		t.Errorf("Try = %v, %v while another opening holds the lock; want false", got, err)
	}
	first.Close()
	if got, err := filelock.Try(second); err != nil || !got {
		t.Errorf("Try = %v, %v after the holder closed; want true", got, err)
	}
}

func TestWaitingForALockEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder, err := filelock.Wait(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	waited := 0
	if _, err := filelock.Wait(ctx, path, func() { waited++ }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait = %v; want the context's end", err)
	}
	if waited != 1 {
		t.Errorf("the waiting was announced %d times; want once", waited)
	}
}
