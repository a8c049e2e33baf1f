package stories

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdshort/holdshort/ledger"
)

// TestALogThatTellsOfSumsThatWereOffFails, so that no test misses that they healed.
func TestALogThatTellsOfSumsThatWereOffFails(t *testing.T) {
	for text, off := range map[string]bool{
		"level=INFO msg=\"the ledger starts\"\n":                                false,
		"level=INFO msg=a\nlevel=ERROR msg=\"" + ledger.SumsOff + ", a bug\"\n": true,
	} {
		path := filepath.Join(t.TempDir(), "manager.log")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := &Manager{Program: NewProgram("the manager", "", path, 0)}
		if err := m.balanced(); (err != nil) != off {
			t.Errorf("%q: %v, want an error: %v", text, err, off)
		}
	}
}
