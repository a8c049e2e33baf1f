package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/author"
)

func (p Plugin) vendor() *cobra.Command {
	return &cobra.Command{
		Use:   "vendor DIR",
		Short: "Write library and defaults into DIR/" + author.VendorFolder + ", for stock opa and editors",
		Long: `Write library and defaults into DIR/` + author.VendorFolder + `, for stock opa and editors.

Afterwards opa test DIR and opa check --strict DIR work. Defaults that the policy replaces are left out, so run it again
when you define another field. The manager does not read that folder; it has its own.`,
		Args: oneDir,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.runVendor(args[0])
		},
	}
}

func (p Plugin) runVendor(dir string) error {
	if isArchive(dir) {
		return failure.New("the folder that it was built from", "%s is an archive", dir)
	}
	bundle, err := readBundle(dir)
	if err != nil {
		return p.refusal(err, dir)
	}
	files, err := author.Vendored(bundle)
	if err != nil {
		return p.refusal(err, dir)
	}
	folder := filepath.Join(dir, author.VendorFolder)
	if err := clearVendored(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fileFailure(err, folder)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return fileFailure(err, path)
		}
		fmt.Fprintln(p.Streams.Out, path)
	}
	return nil
}

// clearVendored removes what an earlier run wrote: a default that is there
// beside the policy's own rule would be a conflict.
func clearVendored(folder string) error {
	old, err := filepath.Glob(filepath.Join(folder, "*.rego"))
	if err != nil {
		return fmt.Errorf("listing %s: %w", folder, err)
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return fileFailure(err, name)
		}
	}
	return nil
}

type buildFlags struct {
	out, revision string
	shadow        bool
}

func (p Plugin) build() *cobra.Command {
	var f buildFlags
	c := &cobra.Command{
		Use:   "build DIR",
		Short: "Check a policy and pack it into an OPA bundle, or into values of the chart",
		Long: `Check a policy and pack it into an OPA bundle, for an HTTP server. If the name after -o ends in .yaml, it becomes a file of
values for helm instead, with all files of the policy, or of its shadow.

The same files give the same bytes. Tests are packed too: the manager runs them before it puts the policy into force.`,
		Example: `  kubectl holdshort policy build my-policy -o bundle.tar.gz --revision "$(git rev-parse HEAD)"
  kubectl holdshort policy build my-policy -o values.yaml --shadow`,
		Args: oneDir,
		RunE: func(c *cobra.Command, args []string) error {
			return p.runBuild(c.Context(), args[0], f)
		},
	}
	c.Flags().StringVarP(&f.out, "output", "o", "bundle.tar.gz", "the file to write")
	c.Flags().BoolVar(&f.shadow, "shadow", false, "of values: it is what the policy in force is compared with")
	c.Flags().StringVar(&f.revision, "revision", "", "your name for this version; default: a digest of the files")
	return c
}

func (p Plugin) runBuild(ctx context.Context, dir string, f buildFlags) error {
	if isArchive(dir) {
		return failure.New("the folder that it was built from", "%s is an archive already", dir)
	}
	if !isArchive(f.out) && !isValues(f.out) {
		return failure.New("-o bundle.tar.gz", "-o %s: want a name that ends in .tar.gz, or in .yaml for values of the chart", f.out)
	}
	if isArchive(f.out) && f.shadow {
		return failure.New("--shadow -o values.yaml", "an archive is the same for policy and shadow")
	}
	bundle, err := readBundle(dir)
	if err != nil {
		return p.refusal(err, dir)
	}
	verdict, err := author.Check(ctx, bundle)
	if err != nil {
		return err
	}
	if len(verdict.Problems) > 0 {
		return p.refusal(&engine.BundleError{Problems: verdict.Problems}, dir)
	}
	if isValues(f.out) {
		return p.writeValues(bundle, dir, f)
	}
	archive, err := author.Pack(bundle, f.revision)
	if err != nil {
		return err
	}
	// What the manager makes of it, so that its name of the revision can be told.
	packed, err := engine.ReadArchive(f.out, archive)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.out, archive, 0o644); err != nil {
		return outFailure(err, f.out)
	}
	fmt.Fprintf(p.Streams.Out, "%s: revision %s, %s, %d bytes\n", f.out, engine.Short(packed.Digest()), counted(len(packed.Files), "file"), len(archive))
	return nil
}

func (p Plugin) writeValues(bundle engine.Bundle, dir string, f buildFlags) error {
	text, err := values(bundle, dir, f.shadow)
	if err != nil {
		return p.refusal(err, dir)
	}
	if err := os.WriteFile(f.out, text, 0o644); err != nil {
		return fileFailure(err, f.out)
	}
	fmt.Fprintf(p.Streams.Out, "%s: revision %s, %s\n", f.out, engine.Short(bundle.Digest()), counted(len(bundle.Files), "file"))
	return nil
}

type signFlags struct{ key, id, algorithm, scope, out string }

func (p Plugin) sign() *cobra.Command {
	var f signFlags
	c := &cobra.Command{
		Use:   "sign ARCHIVE",
		Short: "Sign an archive made by build, so that the manager can require it",
		Example: `  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem
  openssl pkey -in key.pem -pubout -out keys/release.pem
  kubectl holdshort policy sign bundle.tar.gz --key key.pem --key-id release
  kubectl holdshort policy check bundle.tar.gz --keys-dir keys`,
		Args: func(_ *cobra.Command, args []string) error {
			return one(args, "which archive?", "the one that kubectl holdshort policy build made, such as bundle.tar.gz")
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return p.runSign(args[0], f)
		},
	}
	c.Flags().StringVar(&f.key, "key", "", "file with the private key, in PEM (RSA, ECDSA or Ed25519); required")
	c.Flags().StringVar(&f.id, "key-id", "default", "under which the manager knows the public key")
	c.Flags().StringVar(&f.algorithm, "algorithm", "", "RS256, PS256, ES256, EdDSA and the like; default: the one that fits to the key")
	c.Flags().StringVar(&f.scope, "scope", "", "what the signature is good for, if the manager asks for one")
	c.Flags().StringVarP(&f.out, "output", "o", "", "the file to write; default: ARCHIVE itself")
	return c
}

func (p Plugin) runSign(name string, f signFlags) error {
	if f.key == "" {
		return failure.New("--key key.pem", "which key?")
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return failure.New("another path; kubectl holdshort policy build DIR makes an archive", "there is no %s", name)
	}
	if !isArchive(name) {
		return failure.New("kubectl holdshort policy build "+name+" -o bundle.tar.gz, and sign that", "%s is no archive", name)
	}
	archive, err := os.ReadFile(name)
	if err != nil {
		return fileFailure(err, name)
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return failure.New("another --key; kubectl holdshort policy sign --help shows how to make one", "there is no %s", f.key)
		}
		return fileFailure(err, f.key)
	}
	signed, err := author.Sign(archive, author.Signing{Key: key, ID: f.id, Algorithm: f.algorithm, Scope: f.scope})
	if err != nil {
		return p.refusal(err, name)
	}
	out := f.out
	if out == "" {
		out = name
	}
	if err := os.WriteFile(out, signed, 0o644); err != nil {
		return outFailure(err, out)
	}
	packed, err := engine.ReadArchive(out, signed)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Streams.Out, "%s: revision %s, signed with key %s\n", out, engine.Short(packed.Digest()), f.id)
	return nil
}
