//go:build plane

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shBlocks are the commands of a document that are marked sh.
func shBlocks(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for i, part := range strings.Split("\n"+string(text), "\n```sh\n") {
		if block, _, ok := strings.Cut(part, "\n```"); ok && i > 0 {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// TestASourceIsBuiltAndSignedAsTheGuideSays runs what docs/sources.md says of
// bundles and signatures, with openssl and stock opa, and has our own check take
// what comes of it. What needs a cluster, or goes on for ever, it leaves out.
func TestASourceIsBuiltAndSignedAsTheGuideSays(t *testing.T) {
	blocks := shBlocks(t, "../../docs/sources.md")
	if len(blocks) != 5 {
		t.Fatalf("%d blocks marked sh, want 5: build, serve, sign, opa build, opa sign. Try: change this test with the guide", len(blocks))
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	check := func(of, more string) string {
		return "kubectl holdshort policy check " + of + " --keys-dir keys " + more
	}
	script := strings.Join([]string{
		"set -euo pipefail",
		"go build -C " + root + " -o $PWD/plugin ./cmd/kubectl-holdshort",
		`here=$PWD`,
		`kubectl() { if [ "$1" = holdshort ]; then shift; "$here/plugin" "$@"; else test -s token; fi; }`,
		"opa=$(cd " + root + " && go tool -modfile=go.tools.mod -n opa)",
		`opa() { "$opa" "$@"; }`,
		"echo sesame > token; openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem; cp key.pem release.key",
		"kubectl holdshort policy new my-policy",
		"set -x",
		blocks[0],
		blocks[2],
		"mkdir keys && cp release.pem keys/",
		check("bundle.tar.gz", "--scope prod"),
		blocks[3],
		check("bundle.tar.gz", ""),
		"(" + blocks[4] + ")",
		check("my-policy", ""),
	}, "\n")
	cmd := exec.CommandContext(t.Context(), "bash")
	cmd.Dir = t.TempDir()
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), " is good: revision "); n != 3 {
		t.Errorf("%d of the 3 bundles are good:\n%s", n, out)
	}
}
