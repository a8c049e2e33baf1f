package setting

import (
	"fmt"
	"testing"
)

// failing notes what a test would have failed with.
type failing struct {
	testing.TB
	said string
}

func (*failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) { f.said = fmt.Sprintf(format, args...) }

func TestNumber(t *testing.T) {
	for text, want := range map[string]struct {
		n    uint64
		said string
	}{
		"":     {n: 7},
		"12":   {n: 12},
		"4":    {n: 4, said: `HOLDSHORT_TEST="4". Try: a number from 5`},
		"-1":   {said: `HOLDSHORT_TEST="-1". Try: a number from 5`},
		"many": {said: `HOLDSHORT_TEST="many". Try: a number from 5`},
	} {
		t.Setenv("HOLDSHORT_TEST", text)
		f := &failing{}
		if n := Number(f, "HOLDSHORT_TEST", 5, 7); n != want.n || f.said != want.said {
			t.Errorf("%q: %d and %q, want %d and %q", text, n, f.said, want.n, want.said)
		}
	}
}
