package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const modulePath = "github.com/holdshort/holdshort"

// sourceRoot walks up from the working directory to the project's go.mod.
// Tests run in their package's directory and commands somewhere in the clone,
// so that finds it without asking the Go command.
func sourceRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && declares(string(text), modulePath) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside a clone of %s, which holds the modules to build. Try: run this from the clone", start, modulePath)
		}
	}
}

// declares tells whether a go.mod is that of the module.
func declares(goMod, module string) bool {
	for line := range strings.Lines(goMod) {
		if strings.TrimSpace(line) == "module "+module {
			return true
		}
	}
	return false
}

// key is a digest of all that decides what a build makes.
func (c component) key(ctx context.Context, module string) (string, error) {
	goVersion, err := goEnv(ctx, module)
	if err != nil {
		return "", err
	}
	sources, err := filepath.Glob(filepath.Join(module, "*.go"))
	if err != nil {
		return "", fmt.Errorf("listing %s: %w", module, err)
	}
	sources = append(sources, filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum"))
	slices.Sort(sources)
	digest := sha256.New()
	fmt.Fprintf(digest, "%s\n%s\n%q\n", goVersion, c.ldflags, c.packages)
	for _, source := range sources {
		if err := addFile(digest, source); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(digest.Sum(nil))[:16], nil
}

func addFile(digest io.Writer, path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is missing; the plane's build modules are part of the clone. Try: git status", path)
	}
	if err != nil {
		return fmt.Errorf("reading what is to be built: %w", err)
	}
	_, err = fmt.Fprintf(digest, "%s %d\n%s", filepath.Base(path), len(text), text)
	return err
}

// goEnv names the toolchain that would build in the module's directory.
func goEnv(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED")
	cmd.Dir = module
	cmd.Env = buildEnv()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking the Go command for its version: %w. Try: have go in PATH", err)
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}

// buildEnv keeps a workspace or flags of the user's own out of the builds.
func buildEnv() []string {
	return append(os.Environ(), "GOWORK=off", "GOFLAGS=")
}
