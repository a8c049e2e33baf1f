package policy

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/author"
)

type formatFlags struct{ write, diff, check bool }

func (p Plugin) format() *cobra.Command {
	var f formatFlags
	c := &cobra.Command{
		Use:   "fmt DIR",
		Short: "List the rules' files that are not formatted; -w formats them",
		Example: `  kubectl holdshort policy fmt my-policy -d
  kubectl holdshort policy fmt my-policy -w`,
		Args: oneDir,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.runFormat(args[0], f)
		},
	}
	c.Flags().BoolVarP(&f.write, "write", "w", false, "format the files in place")
	c.Flags().BoolVarP(&f.diff, "diff", "d", false, "print what would change")
	c.Flags().BoolVar(&f.check, "check", false, "fail if a file is not formatted")
	return c
}

func (p Plugin) runFormat(dir string, f formatFlags) error {
	if f.write && f.check {
		return failure.New("one of the two", "--write leaves nothing for --check to find")
	}
	if isArchive(dir) {
		return failure.New("the folder that it was built from", "%s is an archive", dir)
	}
	bundle, err := readBundle(dir)
	if err != nil {
		return p.refusal(err, dir)
	}
	var problems []engine.Problem
	unformatted := 0
	for _, name := range slices.Sorted(maps.Keys(bundle.Files)) {
		if !strings.HasSuffix(name, ".rego") {
			continue
		}
		text := bundle.Files[name]
		formatted, err := author.Format(name, text)
		var bad *engine.BundleError
		switch {
		case errors.As(err, &bad):
			problems = append(problems, bad.Problems...)
			continue
		case err != nil:
			return err
		case bytes.Equal(text, formatted):
			continue
		}
		unformatted++
		if err := p.formatOne(dir, name, text, formatted, f); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return p.refusal(&engine.BundleError{Problems: problems}, dir)
	}
	if f.check && unformatted > 0 {
		return failure.New("kubectl holdshort policy fmt -w "+dir, "%s not formatted", counted(unformatted, "file"))
	}
	return nil
}

func (p Plugin) formatOne(dir, name string, text, formatted []byte, f formatFlags) error {
	if f.diff {
		if _, err := fmt.Fprint(p.Streams.Out, diff(name, string(text), string(formatted))); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintln(p.Streams.Out, name); err != nil {
		return err
	}
	if !f.write {
		return nil
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	info, err := os.Stat(path)
	if err == nil {
		err = os.WriteFile(path, formatted, info.Mode().Perm())
	}
	if err != nil {
		return fileFailure(err, path)
	}
	return nil
}
