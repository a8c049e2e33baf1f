package policy

import (
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
)

// Plugin is what these commands have of the plugin around them.
type Plugin struct {
	Streams genericiooptions.IOStreams
	Now     func() time.Time
	// Config reads the kubeconfig. Only what talks to a cluster calls it.
	Config func() (*rest.Config, error)
}

// New is the group with its subcommands.
func New(p Plugin) *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "Write, check, test and roll out a policy",
		Long: `Write, check, test and roll out a policy.

A policy is a folder, called a bundle: data.yaml, and rules where data is not enough. What passes here is what the
manager puts in force: it is the same engine.`,
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs, // cobra takes a misspelt command for one
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				try := c.CommandPath() + " --help"
				if meant := c.SuggestionsFor(args[0]); len(meant) > 0 {
					try = c.CommandPath() + " " + meant[0]
				}
				return failure.New(try, "%s has no command %q", c.CommandPath(), args[0])
			}
			return c.Help()
		},
	}
	for _, sub := range p.commands() {
		c.AddCommand(sub)
	}
	return c
}

// commands are listed in the order in which one needs them.
func (p Plugin) commands() []*cobra.Command {
	return []*cobra.Command{
		p.create(), p.check(), p.test(), p.format(), p.bench(), p.vendor(), p.build(), p.sign(), p.replay(),
		p.status(), p.approve(), p.discard(), p.rollback(), p.promote(),
	}
}
