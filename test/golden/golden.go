package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Compare holds got against testdata/name of the package that is tested; update
// writes it there first.
func Compare(t *testing.T, update bool, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v. Try: go test . -update, in the package's folder", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); if it is meant: go test . -update, in the package's folder\n%s", file, diff)
	}
}
