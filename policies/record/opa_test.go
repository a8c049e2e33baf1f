package record_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies/engine/author"
	"github.com/holdshort/holdshort/policies/record"
)

// Stock OPA, given the bundle with library and defaults beside it, says of a
// record's input what the record says.
func TestStockOPAGivesTheSameAnswers(t *testing.T) {
	folder := t.TempDir()
	b := bundle(t)
	vendored, err := author.Vendored(b)
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, files := range []map[string][]byte{b.Files, vendored} {
		for name, text := range files {
			file := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--data", file)
		}
	}
	recorder := newRecorder(t, record.Options{Size: 100})
	ask(t, recorder.Observe, input())
	all := records(t, bytes.Join(recorder.Lines(), nil))
	for _, r := range all {
		said := opa(t, args, r)
		if fields, ok := r.Result.(map[string]any); ok { // stock OPA tells helpers of the package, too
			named, _ := said.(map[string]any)
			some := map[string]any{}
			for name := range fields {
				some[name] = named[name]
			}
			said = some
		}
		if diff := cmp.Diff(r.Result, said); diff != "" {
			t.Errorf("%s (-record +opa):\n%s", r.Path, diff)
		}
	}
	if len(all) != 6 {
		t.Errorf("%d records, want 6", len(all))
	}
}

func opa(t *testing.T, args []string, r record.Record) any {
	t.Helper()
	text, err := json.Marshal(r.Input)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "go", append([]string{"tool", "-modfile=go.tools.mod", "opa", "eval",
		"--strict-builtin-errors", "--stdin-input", "--format", "raw", "data.holdshort.policy." + r.Holdshort.Entrypoint}, args...)...)
	run.Dir, run.Stdin = filepath.Join("..", ".."), bytes.NewReader(text)
	var complaint bytes.Buffer
	run.Stderr = &complaint
	out, err := run.Output()
	if err != nil {
		t.Fatalf("opa eval: %v\n%s%s", err, out, complaint.String())
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	decoder.UseNumber()
	var said any
	if err := decoder.Decode(&said); err != nil {
		t.Fatalf("opa said %q: %v", out, err)
	}
	return said
}
