package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdshort/holdshort/test/plane/filelock"
)

// claimFile is in every plane's directory: it holds the number of the process
// whose plane it is, and is locked as long as that lives.
const claimFile = "plane.pid"

// makeDir makes the plane's directory and claims it. It is going to be
// removed, so one that holds anything is not ours to take.
func makeDir(dir string) (string, *os.File, error) {
	dir, err := emptyDir(dir)
	if err != nil {
		return "", nil, err
	}
	claim, err := os.OpenFile(filepath.Join(dir, claimFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("claiming the plane's directory: %w", err)
	}
	if got, err := filelock.Try(claim); err != nil || !got {
		return "", nil, errors.Join(fmt.Errorf("another process just took %s for a plane", dir), err, claim.Close())
	}
	if _, err := fmt.Fprintln(claim, os.Getpid()); err != nil {
		return "", nil, errors.Join(fmt.Errorf("claiming the plane's directory: %w", err), claim.Close())
	}
	return dir, claim, nil
}

func emptyDir(dir string) (string, error) {
	if dir == "" {
		made, err := os.MkdirTemp("", "holdshort-plane-")
		if err != nil {
			return "", fmt.Errorf("making a temporary directory: %w", err)
		}
		return made, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the plane's directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the plane's directory: %w", err)
	}
	held, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("looking into the plane's directory: %w", err)
	}
	if len(held) > 0 {
		return "", fmt.Errorf("the plane's directory %s is not empty (it holds %s). Try: another one, or `down` if a plane is there", dir, held[0].Name())
	}
	return dir, nil
}

// ErrNoPlane is what Down answers about a directory without a plane.
var ErrNoPlane = errors.New("there is no plane")

const downPollInterval = 50 * time.Millisecond

// Down ends the plane of another process by its directory, and waits until it
// is gone. What a plane left there that ended with the machine is removed.
func Down(ctx context.Context, dir string) error {
	claim, err := os.Open(filepath.Join(dir, claimFile))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w in %s", ErrNoPlane, dir)
	}
	if err != nil {
		return fmt.Errorf("looking for a plane: %w", err)
	}
	defer claim.Close()
	for asked := false; ; {
		free, err := filelock.Try(claim)
		if err != nil {
			return err
		}
		if free {
			return leftovers(dir, asked)
		}
		if !asked {
			if err := askToEnd(claim.Name()); err != nil {
				return err
			}
			asked = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the plane in %s to end: %w", dir, ctx.Err())
		case <-time.After(downPollInterval):
		}
	}
}

// leftovers removes the directory of a plane that nobody holds. One that ended
// since it was asked has removed it itself, or was told to keep it.
func leftovers(dir string, asked bool) error {
	if asked {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing what a plane left: %w", err)
	}
	return nil
}

// askToEnd sends the signal to the process that holds the lock on path, which
// is therefore alive and the one that wrote its number there.
func askToEnd(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("finding the plane's process: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("finding the plane's process in %s: %w", path, err)
	}
	owner, err := os.FindProcess(pid)
	if err == nil {
		err = owner.Signal(syscall.SIGTERM)
	}
	if err != nil {
		return fmt.Errorf("asking process %d to end its plane: %w", pid, err)
	}
	return nil
}
