package policy

import (
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
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
	}
}
