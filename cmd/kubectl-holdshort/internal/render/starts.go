package render

import (
	"fmt"
	"time"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
)

// starts says when a waiting Job starts, or why nobody knows.
func (t Text) starts(x report.JobExplanation) []line {
	s := x.Start
	if s == nil {
		return nil
	}
	var text string
	switch early := s.Earliest != nil && s.Earliest.After(t.Now); {
	case s.Latest == nil && early:
		text = fmt.Sprintf("not before %s UTC (in %s); when at the latest is unknown: %s", t.clock(*s.Earliest), age(*s.Earliest, t.Now), s.Unknown)
	case s.Latest == nil:
		text = "unknown: " + s.Unknown
	case !s.Latest.After(t.Now):
		text = fmt.Sprintf("at any moment; it was to start by %s UTC", t.clock(minuteAfter(*s.Latest)))
	case early:
		text = fmt.Sprintf("between %s and %s UTC (in %s to %s)", t.clock(*s.Earliest), t.clock(minuteAfter(*s.Latest)),
			age(*s.Earliest, t.Now), age(*s.Latest, t.Now))
	default:
		text = fmt.Sprintf("by %s UTC (within %s)", t.clock(minuteAfter(*s.Latest)), age(*s.Latest, t.Now))
	}
	if s.Latest != nil {
		text += ", if nothing new comes before it"
	}
	if s.Ground != "" {
		text += "; from " + s.Ground
	}
	return []line{{"Starts", text}}
}

// clock is a moment to the minute, with its day unless that is today.
func (t Text) clock(at time.Time) string { return clock(t.Now, at, "2006-01-02 15:04") }

func clock(now, at time.Time, long string) string {
	now, at = now.UTC(), at.UTC()
	if now.YearDay() == at.YearDay() && now.Year() == at.Year() {
		return at.Format("15:04")
	}
	return at.Format(long)
}

// minuteAfter is the first full minute that is not before a moment.
func minuteAfter(at time.Time) time.Time {
	return at.Add(time.Minute - time.Nanosecond).Truncate(time.Minute)
}

// start is the same in a column: earliest..latest, of which what is unknown is left
// out.
func (t Table) start(s *report.Start) string {
	if s == nil || s.Latest == nil && s.Earliest == nil {
		return dash
	}
	from, to := "", ""
	if s.Earliest != nil {
		from = clock(t.Now, *s.Earliest, "2006-01-02T15:04")
	}
	if s.Latest != nil {
		to = clock(t.Now, minuteAfter(*s.Latest), "2006-01-02T15:04")
	}
	return from + ".." + to
}
