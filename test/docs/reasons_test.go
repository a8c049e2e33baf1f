package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/reason"
)

var update = flag.Bool("update", false, "write what is generated from the code")

const reasonsFile = "docs/reasons.md"

func TestReasonsAreThoseOfTheCatalogue(t *testing.T) {
	want := reasons(reason.Catalogue())
	path := filepath.Join(root(t), reasonsFile)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, read(t, reasonsFile)); diff != "" {
		t.Errorf("%s is stale. Try: go test ./test/docs -update\n(-code +document)\n%s", reasonsFile, diff)
	}
}

func reasons(entries []reason.Entry) string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from ledger/reason by: go test ./test/docs -update -->

# Why a Job waits

Every Job that waits has one main reason: a code, a sentence with its numbers, and what would change it. It is in the
annotation ` + "`holdshort.dev/message`" + ` of the Job, in an event, and in ` + "`kubectl holdshort explain`" + `. When several reasons
apply, the first in this list is the main one.

`)
	b.WriteString("| group | code | meaning | what would change it |\n| --- | --- | --- | --- |\n")
	for i, e := range entries {
		group := ""
		if i == 0 || entries[i-1].Group != e.Group {
			group = string(e.Group)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", group, e.Code, e.Title, e.Advice)
	}
	b.WriteString(`
A policy adds its own codes within ` + "`HeldByPolicy` and `DeniedByPolicy`" + `, in a namespace of its own, such as
` + "`team.example/Daytime`" + `; it never replaces one of these.
`)
	return b.String()
}
