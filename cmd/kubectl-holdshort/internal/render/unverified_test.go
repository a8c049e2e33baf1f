package render_test

import (
	"strings"
	"testing"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
)

func TestWhatIsNotCheckedIsSaidAsLongAsItMatters(t *testing.T) {
	for state, said := range map[string]bool{report.StateWaiting: true, report.StateAdmitted: true, report.StateComplete: false} {
		x := report.JobExplanation{Asks: []report.Ask{{PodSet: "main", Pods: 1, Unverified: []string{"volume data", "hostPort", "volume data"}}}}
		x.State = state
		var out strings.Builder
		if err := (render.Text{}).Explain(&out, x); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "unverified before the start: hostPort, volume data; "); got != said {
			t.Errorf("%s: said %v, want %v in\n%s", state, got, said, out.String())
		}
	}
}
