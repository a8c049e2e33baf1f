package arch

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table into docs/architecture.md")

const (
	document   = "docs/architecture.md"
	tableBegin = "<!-- The table of test/arch; written by: go test ./test/arch -update -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

func TestDocumentHasTheSameTable(t *testing.T) {
	text := string(read(t, document))
	before, rest, begins := strings.Cut(text, tableBegin)
	written, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table. Try: the lines\n%s%s", document, tableBegin, tableEnd)
	}
	want := markdown(Table())
	if *update {
		err := os.WriteFile(filepath.Join(root(t), document), []byte(before+tableBegin+want+tableEnd+after), 0o644)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Errorf("%s and test/arch/table.go disagree. Try: go test ./test/arch -update\n(-check +document)\n%s", document, diff)
	}
}

func markdown(rows []Row) string {
	var b strings.Builder
	b.WriteString("| package | duty | may import of ours | of others | keeps out, and why |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range rows {
		cells := []string{code([]string{r.Package}), r.Duty, code(short(r.Ours)), code(foreign(r.Third)), r.Never}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

func code(names []string) string {
	if len(names) == 0 {
		return "–"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

// short leaves out what every second name begins with.
func short(names []string) []string {
	var list []string
	for _, name := range names {
		if name == "..." {
			name = "anything"
		}
		if name != "ledger/..." {
			name = strings.TrimPrefix(name, "ledger/")
		}
		list = append(list, name)
	}
	return list
}

func foreign(prefixes []string) []string {
	var list []string
	for _, prefix := range prefixes {
		if prefix == "" {
			prefix = "anything"
		}
		list = append(list, prefix)
	}
	return list
}
