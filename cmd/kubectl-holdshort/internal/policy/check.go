package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/scenario"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/author"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// policyCheck is what -o json shows.
type policyCheck struct {
	report.Kind
	Bundle   string    `json:"bundle"`
	Digest   string    `json:"digest"` // the revision's name in the cluster
	OK       bool      `json:"ok"`
	Problems []Problem `json:"problems"`
	Warnings []Problem `json:"warnings"`
	// Reads is what the rules of each entrypoint read, if the policy compiles.
	Reads []policyReads `json:"reads,omitempty"`
}

type policyReads struct {
	Entrypoint string   `json:"entrypoint"`
	Input      []string `json:"input,omitempty"`
	Config     []string `json:"config,omitempty"`
}

type checkFlags struct {
	format          string
	strict, cluster bool
	keys, scope     string
}

func (p Plugin) check() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check DIR",
		Short: "Say whether the manager would put a policy into force, and what could be better",
		Long: `Say whether the manager would put a policy into force, and what could be better.

It reads, compiles and checks the policy as the manager does, and runs its tests. Problems are what the manager refuses;
warnings are allowed and probably not meant. DIR may also be an archive made by build.`,
		Example: `  kubectl holdshort policy check my-policy
  kubectl holdshort policy check my-policy --strict --cluster`,
		Args: oneDir,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(f.format, render.FormatJSON); err != nil {
				return err
			}
			return p.runCheck(c.Context(), args[0], f)
		},
	}
	c.Flags().StringVarP(&f.format, "output", "o", "", "json")
	c.Flags().BoolVar(&f.strict, "strict", false, "take warnings for problems")
	c.Flags().BoolVar(&f.cluster, "cluster", false, "compare flavors and quotas with the nodes of the cluster, too")
	c.Flags().StringVar(&f.keys, "keys-dir", "", "folder with public keys (KEYID.pem), as the manager has it: of a signed bundle, check the signature")
	c.Flags().StringVar(&f.scope, "scope", "", "what the signature must be for")
	return c
}

// verification is by the keys of a folder; none: signatures are not checked.
func verification(f checkFlags) (engine.Verification, error) {
	if f.keys == "" {
		return engine.Verification{}, nil
	}
	names, err := filepath.Glob(filepath.Join(f.keys, "*.pem"))
	if err != nil || len(names) == 0 {
		return engine.Verification{}, failure.New("openssl pkey -in key.pem -pubout -out "+filepath.Join(f.keys, "KEYID.pem"), "%s has no KEYID.pem in it", f.keys)
	}
	keys := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return engine.Verification{}, fileFailure(err, name)
		}
		keys[strings.TrimSuffix(filepath.Base(name), ".pem")] = text
	}
	return engine.NewVerification(keys, f.scope, true)
}

func (p Plugin) runCheck(ctx context.Context, dir string, f checkFlags) error {
	keys, err := verification(f)
	if err != nil {
		return err
	}
	bundle, err := readBundle(dir)
	verdict := &author.Verdict{}
	var bad *engine.BundleError
	switch {
	case errors.As(err, &bad):
		verdict.Problems = bad.Problems
	case err != nil:
		return err
	default:
		if verdict, err = author.CheckSigned(ctx, bundle, keys); err != nil {
			return err
		}
		if err := play(ctx, bundle, verdict); err != nil {
			return err
		}
	}
	if f.cluster && verdict.Revision != nil {
		found, err := p.compareWithNodes(ctx, bundle, verdict.Revision)
		if err != nil {
			return err
		}
		verdict.Warnings = append(verdict.Warnings, found...)
	}
	if f.strict {
		// That a signature was not checked is the command's doing, not the policy's.
		unchecked := func(w engine.Problem) bool { return w.Code == engine.CodeSignature }
		strict := slices.DeleteFunc(slices.Clone(verdict.Warnings), unchecked)
		if f.format == render.FormatText {
			strict = withCodes(strict, "")
		}
		verdict.Problems = slices.Concat(verdict.Problems, strict)
		verdict.Warnings = slices.DeleteFunc(verdict.Warnings, func(w engine.Problem) bool { return !unchecked(w) })
	}
	return p.printCheck(dir, bundle, verdict, f)
}

// play adds what becomes of the scenarios of a policy that compiles.
func play(ctx context.Context, bundle engine.Bundle, verdict *author.Verdict) error {
	if verdict.Revision == nil {
		return nil
	}
	results, err := scenario.Run(ctx, bundle, scenario.Options{Within: scenariosWithin})
	if err != nil {
		return err
	}
	played := &testrun.Report{Results: results}
	verdict.Report.Results = append(verdict.Report.Results, results...)
	verdict.Problems = append(verdict.Problems, played.Failures()...)
	return nil
}

func (p Plugin) printCheck(dir string, bundle engine.Bundle, verdict *author.Verdict, f checkFlags) error {
	ok := len(verdict.Problems) == 0
	if f.format == render.FormatJSON {
		document := policyCheck{
			Kind:   report.Kind{APIVersion: report.APIVersion, Kind: "PolicyCheck"},
			Bundle: dir, Digest: bundle.Digest(), OK: ok,
			Problems: problemsOf(verdict.Problems), Warnings: problemsOf(verdict.Warnings),
		}
		if verdict.Revision != nil {
			for _, reads := range verdict.Revision.Reads() {
				document.Reads = append(document.Reads, policyReads(reads))
			}
		}
		if _, err := render.Document(p.Streams.Out, f.format, document); err != nil {
			return err
		}
	} else {
		printProblems(p.Streams.Out, verdict.Problems)
		printProblems(p.Streams.Out, withCodes(verdict.Warnings, "warning: "))
	}
	if !ok {
		return failure.New("each Try above; the policy in force stays as it is until then",
			"%s has %s", dir, counted(len(verdict.Problems), "problem"))
	}
	if f.format == "" {
		fmt.Fprintf(p.Streams.Out, "%s is good: revision %s, %s, %s, %s, %s\n", dir, engine.Short(bundle.Digest()),
			counted(len(verdict.Revision.Catalog().Queues), "queue"), counted(len(verdict.Revision.Catalog().Flavors), "flavor"),
			counted(len(verdict.Report.Results), "test"), counted(len(verdict.Warnings), "warning"))
	}
	return nil
}

// compareWithNodes asks the cluster what machines it has.
func (p Plugin) compareWithNodes(ctx context.Context, bundle engine.Bundle, revision *engine.Revision) ([]engine.Problem, error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	client, err := cluster.New(config)
	if err != nil {
		return nil, err
	}
	list, err := client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	nodes := make([]author.Node, 0, len(list))
	for i := range list {
		node := author.Node{Labels: list[i].Labels}
		for name, amount := range list[i].Status.Allocatable {
			if !amount.IsZero() {
				node.Resources = append(node.Resources, string(name))
			}
		}
		nodes = append(nodes, node)
	}
	return author.LintCluster(bundle, revision.Catalog(), nodes)
}
