package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/policies/engine"
)

// oneDir takes the one argument that most of these commands have.
func oneDir(_ *cobra.Command, args []string) error {
	return one(args, "which policy?", "the folder that has data.yaml in it, or . if you are in it")
}

func one(args []string, question, try string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return failure.New(try, "%s", question)
	}
	return failure.New("one at a time", "unexpected argument %q", args[1])
}

// none takes no argument.
func none(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return failure.New(c.CommandPath(), "%s takes no argument, got %q", c.CommandPath(), args[0])
	}
	return nil
}

// isArchive: a bundle as it is shipped.
func isArchive(name string) bool {
	return strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
}

// readBundle reads a folder, or an archive that `policy build` made. What is
// wrong with the policy itself is an *engine.BundleError.
func readBundle(name string) (engine.Bundle, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return engine.Bundle{}, failure.New("another path; kubectl holdshort policy new DIR makes a policy", "there is no %s", name)
	}
	if err != nil {
		return engine.Bundle{}, fileFailure(err, name)
	}
	if !info.IsDir() && isArchive(name) {
		text, err := os.ReadFile(name)
		if err != nil {
			return engine.Bundle{}, fileFailure(err, name)
		}
		return engine.ReadArchive("archive "+name, text)
	}
	if !info.IsDir() {
		return engine.Bundle{}, failure.New(filepath.Dir(name), "%s is a file; a policy is the folder that it is in", name)
	}
	bundle, err := engine.ReadDir(name)
	var bad *engine.BundleError
	switch {
	case errors.As(err, &bad):
		return bundle, err
	case err != nil:
		return bundle, fileFailure(err, name)
	case len(bundle.Files) == 0:
		return bundle, failure.New("the folder that has data.yaml in it; kubectl holdshort policy new DIR makes one",
			"%s has neither data.yaml nor rules", name)
	}
	return bundle, nil
}

// fileFailure says what can be done about what the file system refused.
func fileFailure(err error, name string) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		name = at.Path
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure.New("another path", "there is no %s", name)
	case errors.Is(err, fs.ErrPermission):
		return failure.New("ls -ld "+name+", to see who may", "%s: you may not: %w", name, fs.ErrPermission)
	}
	return failure.New("another path", "%w", err)
}

// outFailure is fileFailure of a file to write: what is not there is its folder.
func outFailure(err error, name string) error {
	if folder := filepath.Dir(name); errors.Is(err, fs.ErrNotExist) {
		return failure.New("mkdir -p "+folder+", or another -o", "there is no folder %s for %s", folder, filepath.Base(name))
	}
	return fileFailure(err, name)
}
