package policy

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
)

//go:embed starter
var starter embed.FS

func (p Plugin) create() *cobra.Command {
	return &cobra.Command{
		Use:     "new DIR",
		Short:   "Make a folder with a policy to start from: data, one rule, its tests",
		Example: `  kubectl holdshort policy new my-policy`,
		Args: func(_ *cobra.Command, args []string) error {
			return one(args, "which folder is to be made?", "kubectl holdshort policy new my-policy")
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return p.runNew(args[0])
		},
	}
}

func (p Plugin) runNew(dir string) error {
	if err := mayFill(dir); err != nil {
		return err
	}
	files, err := fs.Sub(starter, "starter")
	if err != nil {
		return fmt.Errorf("reading the embedded starter: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fileFailure(err, dir)
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return fmt.Errorf("reading the embedded starter: %w", err)
	}
	for _, entry := range entries {
		text, err := fs.ReadFile(files, entry.Name())
		if err != nil {
			return fmt.Errorf("reading the embedded starter: %w", err)
		}
		name := filepath.Join(dir, entry.Name())
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return fileFailure(err, name)
		}
		fmt.Fprintln(p.Streams.Out, name)
	}
	fmt.Fprintf(p.Streams.ErrOut, "Next: edit data.yaml, then kubectl holdshort policy check %s\n", dir)
	return nil
}

// mayFill: nothing of anybody's is written over.
func mayFill(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fileFailure(err, dir)
	case !info.IsDir():
		return failure.New("another name", "%s is a file", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fileFailure(err, dir)
	}
	if len(entries) > 0 {
		return failure.New("a folder that does not exist yet", "%s is not empty, and nothing in it is written over", dir)
	}
	return nil
}
