package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExamplesAreComputed plays each example of the documents, a policy and a table
// of Jobs, through the engine and the deciding code, and holds the answers on the
// page to what comes out.
func TestExamplesAreComputed(t *testing.T) {
	count := 0
	for _, file := range documents(t) {
		text := read(t, file)
		if !strings.Contains(text, computedMark) {
			continue
		}
		want, n, err := compute(t.Context(), text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		count += n
		if *update {
			if err := os.WriteFile(filepath.Join(root(t), file), []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(text, "\n")); diff != "" {
			t.Errorf("%s says something else than what happens. Try: go test ./test/docs -update\n(-computed +document)\n%s", file, diff)
		}
	}
	if count < 35 {
		t.Errorf("%d answers are computed in the documents; do they still have their marks?", count)
	}
}

// TestExamplesThatAreWrongAreRefused: a page that can't be played must not pass for
// one that was.
func TestExamplesThatAreWrongAreRefused(t *testing.T) {
	const policy = "```yaml\nholdshort:\n  config:\n    flavors: {gpu: {}}\n    queues:\n" +
		"      blue: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 4}}}\n```\n"
	const jobs = "| at | Job | queue | pods | runs |\n| --- | --- | --- | --- | --- |\n"
	const asked = "<!-- computed: what happens -->\n<!-- end -->\n"
	for name, c := range map[string]struct{ page, says string }{
		"no policy":             {jobs + "| 9:00 | a | blue | 1 × 1 GPU | |\n\n" + asked, "no policy"},
		"no jobs":               {policy + asked, "no Jobs"},
		"a policy with a typo":  {strings.Replace(policy, "quota:", "qouta:", 1) + jobs + "| 9:00 | a | blue | 1 × 1 GPU | |\n\n" + asked, "qouta"},
		"a unit that is none":   {policy + jobs + "| 9:00 | a | blue | 1 × 1 TPU | |\n\n" + asked, "TPU"},
		"a mark without an end": {policy + jobs + "| 9:00 | a | blue | 1 × 1 GPU | |\n\n<!-- computed: what happens -->\n", "end"},
		"a column that is none": {policy + strings.Replace(jobs, "runs", "colour", 1) + "| 9:00 | a | blue | 1 × 1 GPU | red |\n\n" + asked, "colour"},
		"a question that nobody can answer": {policy + jobs + "| 9:00 | a | blue | 1 × 1 GPU | |\n\n" +
			"<!-- computed: the weather -->\n<!-- end -->\n", "the weather"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := compute(t.Context(), c.page); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want an error about %q", err, c.says)
			}
		})
	}
}
