package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine/author"
)

type benchFlags struct {
	format string
	each   time.Duration
	inputs []string
}

func (p Plugin) bench() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench DIR",
		Short: "Measure how long each entrypoint takes",
		Long: `Measure how long each entrypoint takes.

The workloads are made up: for each queue a small one, and one that asks for all of its quota. --input brings your own.
The manager stops an evaluation after 250 ms; what takes more than a millisecond is worth a look.`,
		Args: oneDir,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(f.format, render.FormatJSON); err != nil {
				return err
			}
			return p.runBench(c.Context(), args[0], f)
		},
	}
	c.Flags().StringVarP(&f.format, "output", "o", "", "json")
	c.Flags().DurationVar(&f.each, "time", time.Second, "how long each is measured")
	c.Flags().StringArrayVar(&f.inputs, "input", nil, "a JSON file with an input document, instead of made-up workloads; may be repeated")
	return c
}

// policyBench is what -o json shows.
type policyBench struct {
	report.Kind
	Bundle  string       `json:"bundle"`
	Entries []BenchEntry `json:"entrypoints"`
}

// BenchEntry is one entrypoint.
type BenchEntry struct {
	Name      string `json:"name"`
	Runs      int    `json:"runs"`
	MeanNS    int64  `json:"mean_ns"`
	SlowestNS int64  `json:"slowest_ns"`
	Error     string `json:"error,omitempty"`
}

func (p Plugin) runBench(ctx context.Context, dir string, f benchFlags) error {
	if f.each <= 0 || f.each > time.Minute {
		return failure.New("--time 1s", "--time %s: want more than nothing and at most a minute", f.each)
	}
	samples, err := samplesOf(f.inputs)
	if err != nil {
		return err
	}
	bundle, err := readBundle(dir)
	if err != nil {
		return p.refusalAs(err, dir, f.format)
	}
	entries, err := author.Bench(ctx, bundle, samples, f.each)
	if err != nil {
		return p.refusalAs(err, dir, f.format)
	}
	if f.format == render.FormatJSON {
		document := policyBench{Kind: report.Kind{APIVersion: report.APIVersion, Kind: "PolicyBench"}, Bundle: dir}
		for _, e := range entries {
			entry := BenchEntry{Name: e.Name, Runs: e.Runs, MeanNS: e.Mean.Nanoseconds(), SlowestNS: e.Slowest.Nanoseconds()}
			if e.Failed != nil {
				entry.Error = e.Failed.Error()
			}
			document.Entries = append(document.Entries, entry)
		}
		_, err := render.Document(p.Streams.Out, f.format, document)
		return err
	}
	return p.printBench(entries)
}

func (p Plugin) printBench(entries []author.Entry) error {
	w := printers.GetNewTabWriter(p.Streams.Out)
	fmt.Fprintln(w, "ENTRYPOINT\tRUNS\tMEAN\tSLOWEST")
	for _, e := range entries {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", e.Name, e.Runs, brief(e.Mean), brief(e.Slowest))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Failed != nil {
			fmt.Fprintf(p.Streams.ErrOut, "note: %s fails on a workload, which would be held: %v\n", e.Name, e.Failed)
		}
	}
	return nil
}

func brief(d time.Duration) string {
	switch {
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d >= time.Microsecond:
		return d.Round(100 * time.Nanosecond).String()
	}
	return d.String()
}

func samplesOf(files []string) ([]author.Sample, error) {
	var samples []author.Sample
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fileFailure(err, file)
		}
		input := &policies.Input{}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(input); err != nil {
			return nil, failure.New(`{"workload": {…}, "namespace": {…}}, as in docs/policy.md`, "%s is no input: %w", file, err)
		}
		if input.Workload == nil {
			return nil, failure.New(`{"workload": {…}, "namespace": {…}}, as in docs/policy.md`, "%s has no workload", file)
		}
		samples = append(samples, author.Sample{Name: file, Input: input})
	}
	return samples, nil
}
