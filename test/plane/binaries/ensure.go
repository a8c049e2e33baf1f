package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdshort/holdshort/test/plane/filelock"
)

// Ensure returns the programs of the plane and builds those that are not in
// the cache yet, saying on log what it does. The project's source is found
// from the working directory upwards.
func Ensure(ctx context.Context, log io.Writer) (*Set, error) {
	dirs := map[string]string{}
	for _, c := range components() {
		dir, _, err := c.ensureCached(ctx, log)
		if err != nil {
			return nil, err
		}
		dirs[c.name] = dir
	}
	return setOf(dirs), nil
}

// EnsureKueue returns the program of Kueue, built as those of the plane are, which does
// without it, and where the source of its version lies.
func EnsureKueue(ctx context.Context, log io.Writer) (Kueue, error) {
	c := kueueComponent()
	dir, module, err := c.ensureCached(ctx, log)
	if err != nil {
		return Kueue{}, err
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", kueueModule)
	list.Dir, list.Env = module, buildEnv()
	source, err := list.Output()
	if err != nil {
		return Kueue{}, fmt.Errorf("finding the source of Kueue: %w. Try: go mod download in %s", err, module)
	}
	return Kueue{Program: filepath.Join(dir, c.programs[0]), Source: strings.TrimSpace(string(source))}, nil
}

// ensureCached returns where the component is built, in the user's cache, and its module.
func (c component) ensureCached(ctx context.Context, log io.Writer) (dir, module string, err error) {
	root, err := sourceRoot()
	if err != nil {
		return "", "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", "", err
	}
	module = filepath.Join(root, "test", "plane", "build", c.name)
	if dir, err = c.ensure(ctx, module, cache, log); err != nil {
		return "", "", fmt.Errorf("building %s for the plane: %w", c.name, err)
	}
	return dir, module, nil
}

func cacheDir() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory: %w. Try: set HOME or XDG_CACHE_HOME", err)
	}
	dir := filepath.Join(user, "holdshort", "plane")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the plane's cache: %w", err)
	}
	return dir, nil
}

// ensure returns the directory of the built component.
func (c component) ensure(ctx context.Context, module, cache string, log io.Writer) (string, error) {
	key, err := c.key(ctx, module)
	if err != nil {
		return "", err
	}
	final := filepath.Join(cache, c.name+"-"+key)
	if c.complete(final) {
		return final, nil
	}
	lock, err := filelock.Wait(ctx, final+".lock", func() {
		fmt.Fprintf(log, "plane: another process is building %s, waiting for it\n", c.name)
	})
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if c.complete(final) { // by whoever held the lock
		return final, nil
	}
	return final, c.buildInto(ctx, module, final, log)
}

// buildInto builds beside final and renames, so that final is whole or absent.
// The caller holds the lock, so what lies in scratch is from a build that died.
func (c component) buildInto(ctx context.Context, module, final string, log io.Writer) error {
	scratch := final + ".building"
	for _, stale := range []string{scratch, final} {
		if err := os.RemoveAll(stale); err != nil {
			return fmt.Errorf("clearing an incomplete build: %w", err)
		}
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return fmt.Errorf("making a directory to build in: %w", err)
	}
	defer os.RemoveAll(scratch)
	if err := c.build(ctx, module, scratch, log); err != nil {
		return err
	}
	if !c.complete(scratch) {
		return fmt.Errorf("the build made no %v in %s", c.programs, scratch)
	}
	if err := os.Rename(scratch, final); err != nil {
		return fmt.Errorf("moving the build into place: %w", err)
	}
	return nil
}

func (c component) complete(dir string) bool {
	for _, program := range c.programs {
		if info, err := os.Stat(filepath.Join(dir, program)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}
