package render

import (
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
)

func TestUntilWhenARuleHoldsIsSaidWhileItIsToCome(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		until time.Time
		says  string
	}{
		{"in the evening", time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC), "Until     2026-11-30 18:00 UTC (in 15h)"},
		{"an hour ago", time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := report.JobExplanation{}
			x.State, x.Code, x.Message, x.Until = report.StateHeld, "HeldByPolicy", "by day", &c.until
			var out strings.Builder
			if err := (Text{Now: now}).Explain(&out, x); err != nil {
				t.Fatal(err)
			}
			if said := strings.Contains(out.String(), "Until"); said != (c.says != "") || !strings.Contains(out.String(), c.says) {
				t.Errorf("it does not say %q:\n%s", c.says, out.String())
			}
		})
	}
}
