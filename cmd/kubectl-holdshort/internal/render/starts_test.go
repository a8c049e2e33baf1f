package render

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
)

func TestWhenAJobStartsIsSaidAsFarAsItIsKnown(t *testing.T) {
	now := time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)
	in := func(d time.Duration) *time.Time {
		at := now.Add(d)
		return &at
	}
	for _, c := range []struct {
		name         string
		start        *report.Start
		says, column string
	}{
		{"nothing is known", nil, "", "-"},
		{"both ends", &report.Start{Earliest: in(5 * time.Minute), Latest: in(140 * time.Minute), Ground: "run limits and 43 past runs"},
			"between 14:05 and 16:20 UTC (in 5m to 140m), if nothing new comes before it; from run limits and 43 past runs", "14:05..16:20"},
		{"the minute of the latest moment is not over", &report.Start{Latest: in(20 * time.Second), Ground: "run limits"},
			"by 14:01 UTC (within 20s), if nothing new comes before it; from run limits", "..14:01"},
		{"from when on is over", &report.Start{Earliest: in(-time.Minute), Latest: in(time.Hour), Ground: "run limits"},
			"by 15:00 UTC (within 60m), if nothing new comes before it; from run limits", "13:59..15:00"},
		{"all of it is over", &report.Start{Earliest: in(-time.Hour), Latest: in(-time.Minute), Ground: "run limits"},
			"at any moment; it was to start by 13:59 UTC, if nothing new comes before it; from run limits", "13:00..13:59"},
		{"only from when on", &report.Start{Earliest: in(time.Hour), Unknown: "reasons", Ground: "5 past runs"},
			"not before 15:00 UTC (in 60m); when at the latest is unknown: reasons; from 5 past runs", "15:00.."},
		{"not today", &report.Start{Latest: in(24 * time.Hour), Ground: "run limits"},
			"by 2026-12-01 14:00 UTC (within 24h), if nothing new comes before it; from run limits", "..2026-12-01T14:00"},
		{"nobody knows", &report.Start{Unknown: "it is held (QueueHeld), and nobody knows how long"},
			"unknown: it is held (QueueHeld), and nobody knows how long", "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := report.JobExplanation{Job: report.Job{State: report.StateWaiting, Start: c.start}}
			var said []string
			for _, l := range (Text{Now: now}).starts(x) {
				said = append(said, l.text)
			}
			if diff := cmp.Diff(c.says, strings.Join(said, "\n")); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.column, (Table{Now: now}).start(c.start)); diff != "" {
				t.Errorf("column (-want +got):\n%s", diff)
			}
		})
	}
}
