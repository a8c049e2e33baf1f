package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDiffShowsChangesWithWhatStandsAroundThem(t *testing.T) {
	var before []string
	for i := range 20 {
		before = append(before, fmt.Sprintf("row %d", i+1))
	}
	after := append([]string{}, before...)
	after[1], after[18] = "second", "last but one"
	want := `--- a.rego
+++ a.rego
@@ -1,5 +1,5 @@
 row 1
-row 2
+second
 row 3
 row 4
 row 5
@@ -16,5 +16,5 @@
 row 16
 row 17
 row 18
-row 19
+last but one
 row 20
`
	if diff := cmp.Diff(want, diff("a.rego", strings.Join(before, "\n")+"\n", strings.Join(after, "\n")+"\n")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Whatever the texts are, the rows kept and removed are the one and the rows kept
// and added are the other.
func TestEditsLeadFromOneTextToTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12)
		a, b := rows.Draw(t, "a"), rows.Draw(t, "b")
		var before, after []string
		for _, e := range edits(a, b) {
			if e.sign != '+' {
				before = append(before, e.text)
			}
			if e.sign != '-' {
				after = append(after, e.text)
			}
		}
		if strings.Join(a, " ") != strings.Join(before, " ") || strings.Join(b, " ") != strings.Join(after, " ") {
			t.Fatalf("edits of %v to %v lead from %v to %v", a, b, before, after)
		}
	})
}
