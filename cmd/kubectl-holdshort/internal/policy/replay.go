package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/record"
	"github.com/holdshort/holdshort/policies/replay"
)

// differencesShown bounds how many differences are printed; -o json has all.
const differencesShown = 20

func (p Plugin) replay() *cobra.Command {
	var dir, format string
	c := &cobra.Command{
		Use:   "replay RECORDS",
		Short: "Ask a policy again what another one was asked",
		Long: `Ask a policy again what another one was asked, and show which decisions would be others.

RECORDS is a file of decision records, as the manager writes them (decisions-file) and serves them beside its metrics
(/debug/decisions); - reads them from the standard input. Nothing is asked of a cluster.`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(format, render.FormatJSON); err != nil {
				return err
			}
			if dir == "" {
				return failure.New("--bundle DIR, the folder that has data.yaml in it", "which policy is to be asked?")
			}
			return p.runReplay(c.Context(), args[0], dir, format)
		},
	}
	c.Flags().StringVar(&dir, "bundle", "", "the policy to ask")
	c.Flags().StringVarP(&format, "output", "o", "", "json")
	return c
}

func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return failure.New("one file with records, or - for the standard input", "want 1 argument, got %d", len(args))
	}
	return nil
}

// policyReplay is what -o json shows.
type policyReplay struct {
	report.Kind
	Bundle string `json:"bundle"`
	*replay.Report
}

func (p Plugin) runReplay(ctx context.Context, name, dir, format string) error {
	bundle, err := readBundle(dir)
	if err != nil {
		return p.refusalAs(err, dir, format)
	}
	revision, err := engine.Compile(ctx, bundle, engine.Options{Now: p.Now})
	if err != nil {
		return p.refusalAs(err, dir, format)
	}
	records := p.Streams.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return recordsFailure(err, name)
		}
		defer func() { _ = file.Close() }() // only read
		records = file
	}
	found, err := replay.Run(ctx, records, revision)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if format == render.FormatJSON {
		_, err := render.Document(p.Streams.Out, format, policyReplay{
			Kind: report.Kind{APIVersion: report.APIVersion, Kind: "PolicyReplay"}, Bundle: dir, Report: found})
		return err
	}
	return printReplay(p.Streams.Out, found)
}

func recordsFailure(err error, name string) error {
	if os.IsNotExist(err) {
		return failure.New("the file that the manager's decisions-file names", "there is no %s", name)
	}
	return fileFailure(err, name)
}

func printReplay(out io.Writer, found *replay.Report) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %d the same, %d would be others", counted(found.Records, "record"), found.Same, found.Changed)
	if found.Jobs > 0 { // a Job is asked about more than once
		fmt.Fprintf(&text, ", about %s", counted(found.Jobs, "Job"))
	}
	text.WriteByte('\n')
	for _, kind := range slices.Sorted(maps.Keys(found.Kinds)) {
		fmt.Fprintf(&text, "  %d × %s\n", found.Kinds[kind], kind)
	}
	for _, cause := range slices.Sorted(maps.Keys(found.Skipped)) {
		fmt.Fprintf(&text, "  %d not asked: %s\n", found.Skipped[cause], cause)
	}
	for _, entrypoint := range found.Untried {
		fmt.Fprintf(&text, "  no record is about %s, so what the policy's rules for it would say does not show\n", entrypoint)
	}
	blocks, times := folded(found.Differences)
	for _, block := range blocks[:min(len(blocks), differencesShown)] {
		head, rest, _ := strings.Cut(block, "\n")
		if n := times[block]; n > 1 {
			head += fmt.Sprintf(" (%d times)", n)
		}
		fmt.Fprintf(&text, "\n%s\n%s", head, rest)
	}
	if more := len(blocks) - differencesShown; more > 0 {
		fmt.Fprintf(&text, "\n%d more; -o json has all of them\n", more)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// folded are the differences as they are printed, each once, and how often they
// were found.
func folded(differences []replay.Difference) (blocks []string, times map[string]int) {
	times = map[string]int{}
	for _, d := range differences {
		block := fmt.Sprintf("%s%s: %s\n  before  %s\n  now     %s\n",
			d.Entrypoint, aboutWhom(d.Workload), strings.Join(d.Kinds, ", "), inOneLine(d.Before), inOneLine(d.After))
		if times[block] == 0 {
			blocks = append(blocks, block)
		}
		times[block]++
	}
	return blocks, times
}

func aboutWhom(w *record.Workload) string {
	if w == nil {
		return ""
	}
	return " of " + w.Namespace + "/" + w.Name
}

func inOneLine(a replay.Answer) string {
	if a.Error != nil {
		return "fails: " + a.Error.Message
	}
	text, err := json.Marshal(a.Result)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
