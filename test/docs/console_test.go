//go:build plane

package docs

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTheConsoleBlocksRun runs every command of the documents that is marked
// console, in one shell: the README's, the other guides' on the plane that the
// README brought up, and last how the README cleans up.
func TestTheConsoleBlocksRun(t *testing.T) {
	readme := consoleBlocks(t, "../../README.md")
	if len(readme) < 3 {
		t.Fatalf("the README has %d console blocks, so this test checks nothing", len(readme))
	}
	last := len(readme) - 1
	blocks := append([]string{}, readme[:last]...)
	for _, guide := range []string{
		"../../docs/cli.md", "../../docs/policy.md", "../../docs/first-policy.md", "../../docs/test-policy.md", "../../docs/gitops.md", "../../docs/roll-out.md",
	} {
		blocks = append(blocks, consoleBlocks(t, guide)...)
	}
	blocks = append(blocks, readme[last])

	script := "set -euo pipefail\nrm -rf bin/my-policy\ntrap 'go run ./test/plane down || true; cat bin/manager.log || true' ERR\nset -x\n" + strings.Join(blocks, "\n")
	cmd := exec.CommandContext(t.Context(), "bash")
	cmd.Dir = "../.."
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("a command of the documents fails: %v", err)
	}
	for _, want := range []string{"train-a", "WaitingForQuota", "research", "holdshort-policy/oops.rego:3: ",
		"AwaitingApproval", "is pinned", "nothing is asked for any more"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the commands ran, but %q is nowhere in what they printed", want)
		}
	}
}

// consoleBlocks returns the commands of each block marked console.
func consoleBlocks(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	var block *strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "```console":
			block = &strings.Builder{}
		case block != nil && line == "```":
			blocks = append(blocks, block.String())
			block = nil
		case block != nil:
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				t.Errorf("%s: %q stands in a console block, but is no command. Try: start it with $", file, line)
			}
			block.WriteString(command + "\nsleep 1\n") // as fast as somebody who types
		}
	}
	return blocks
}
