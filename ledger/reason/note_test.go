package reason_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdshort/holdshort/ledger/reason"
)

func TestANoteIsWhatAnEventCanCarry(t *testing.T) {
	cases := []struct {
		name, text string
		bytes      int
	}{
		{"a short one stays", "4 asked, 3 free", 15},
		{"one of just the limit stays", strings.Repeat("a", 1024), 1024},
		{"a long one is cut", strings.Repeat("a", 2000), 1024},
		{"a long one is cut before the character that does not fit", strings.Repeat("a", 1023) + "…", 1023},
		{"what is no text becomes the mark for it", "a\xff", 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := reason.Note(c.text)
			if len(got) != c.bytes || !utf8.ValidString(got) {
				t.Errorf("%d bytes, valid %v; want %d bytes of valid text", len(got), utf8.ValidString(got), c.bytes)
			}
		})
	}
}
