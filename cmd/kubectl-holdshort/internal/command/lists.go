package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
)

// listFlags are those that every list takes.
func (p *plugin) listFlags(c *cobra.Command, selector *string, follow *bool) {
	p.outputFlags(c)
	c.Flags().StringVarP(selector, "selector", "l", "", "label selector, as for kubectl get")
	c.Flags().BoolVarP(follow, "watch", "w", false, "print the list, then every change")
	c.Flags().BoolVar(&p.noHeader, "no-headers", false, "tables without their first line")
}

// completeFlag offers the values of a flag.
func (p *plugin) completeFlag(c *cobra.Command, flag string, complete cobra.CompletionFunc) {
	// It fails only for a flag that does not exist or is registered twice.
	if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

// completeQueues offers the names of the queues.
func (p *plugin) completeQueues(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	client, err := p.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	list, err := client.Queues(c.Context(), "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []cobra.Completion
	for _, queue := range list.Items {
		if strings.HasPrefix(queue.Name, prefix) && !slices.Contains(args, queue.Name) {
			names = append(names, queue.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// noArgs is cobra.NoArgs with something to try.
func noArgs(usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return failure.New(usage, "unexpected argument %q", args[0])
	}
}

// names prints resource/name, one a line, as kubectl takes them back.
func (p *plugin) names(resource string, count int, name func(int) string) error {
	for i := range count {
		if _, err := fmt.Fprintf(p.Streams.Out, "%s/%s\n", resource, name(i)); err != nil {
			return err
		}
	}
	return nil
}

// documents prints a list as one document; when following, each item is one of
// its own, so that a reader can take them one by one. It returns false if the
// format is one for people.
func documents[T any](p *plugin, list any, items []T, follow bool) (bool, error) {
	if p.format == render.FormatText || p.format == render.FormatWide {
		return false, nil
	}
	if !follow {
		return render.Document(p.Streams.Out, p.format, list)
	}
	for _, item := range items {
		if p.format == render.FormatYAML {
			if _, err := fmt.Fprintln(p.Streams.Out, "---"); err != nil {
				return true, err
			}
		}
		if _, err := render.Document(p.Streams.Out, p.format, item); err != nil {
			return true, err
		}
	}
	return true, nil
}
