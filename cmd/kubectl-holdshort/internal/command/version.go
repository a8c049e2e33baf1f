package command

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/policies"
)

// Version is what the build knows of itself.
type Version struct {
	report.Kind
	Version  string `json:"version"`
	Contract int    `json:"contract"` // version of the policy contract
	Go       string `json:"go"`
}

func (p *plugin) version() *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this plugin and of the policy contract it speaks",
		Args:  noArgs("kubectl holdshort version"),
		RunE: func(*cobra.Command, []string) error {
			if err := render.CheckFormat(p.format); err != nil {
				return err
			}
			v := Version{
				Kind:    report.Kind{APIVersion: report.APIVersion, Kind: "Version"},
				Version: buildVersion(), Contract: policies.Contract, Go: runtime.Version(),
			}
			if done, err := render.Document(p.Streams.Out, p.format, v); done {
				return err
			}
			_, err := fmt.Fprintln(p.Streams.Out, versionLine())
			return err
		},
	}
	p.outputFlags(c)
	return c
}

func versionLine() string {
	return fmt.Sprintf("kubectl-holdshort %s (policy contract %d, %s)", buildVersion(), policies.Contract, runtime.Version())
}

// buildVersion is the module's version, with the commit where Go recorded one.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
