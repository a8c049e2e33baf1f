package filelock

import (
	"context"
	"fmt"
	"os"
	"time"
)

const pollInterval = 200 * time.Millisecond

// Wait opens path, made if it is absent, and waits for its lock. waiting is
// called once if that takes longer than one try. The file stays behind:
// removing it would let two processes lock two files of one name.
func Wait(ctx context.Context, path string, waiting func()) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening a lock: %w", err)
	}
	for first := true; ; first = false {
		got, err := Try(file)
		if err != nil {
			file.Close()
			return nil, err
		}
		if got {
			return file, nil
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}
