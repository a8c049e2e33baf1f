package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/reason"
)

// Text prints explanations for people.
type Text struct {
	Now   time.Time
	Color bool
}

// line is one line of the body: what it is about, and what there is to say.
type line struct{ label, text string }

// Explain prints why a Job waits, or what it was given.
func (t Text) Explain(out io.Writer, x report.JobExplanation) error {
	var b strings.Builder
	b.WriteString(t.header(x) + "\n\n")
	for _, l := range t.body(x) {
		fmt.Fprintf(&b, "  %-8s  %s\n", l.label, l.text)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (t Text) header(x report.JobExplanation) string {
	parts := []string{x.Name, t.state(x.State) + " " + age(t.Now, x.Since)}
	if x.State != report.StateUnmanaged {
		parts = append(parts, "queue "+orDash(x.Queue))
	}
	for _, ask := range x.Asks {
		parts = append(parts, "asks "+askText(ask))
	}
	if rank := rankText(x); rank != "" {
		parts = append(parts, rank)
	}
	return strings.Join(parts, "   ")
}

func askText(a report.Ask) string {
	text := podsText(a.Pods)
	if what := amounts(a.Requests); what != dash {
		text += " × " + what
	}
	if len(a.Shared) > 0 {
		text += ", sharing " + amounts(a.Shared)
	}
	return text
}

func rankText(x report.JobExplanation) string {
	switch {
	case x.Position == 0:
		return ""
	case x.InLine > 0:
		return fmt.Sprintf("rank %d of %d in line", x.Position, max(x.InLine, x.Position))
	}
	return fmt.Sprintf("rank %d", x.Position)
}

func (t Text) body(x report.JobExplanation) []line {
	var lines []line
	lines = append(lines, t.why(x)...)
	if x.Moved != "" {
		lines = append(lines, line{"Now", x.Moved})
	}
	lines = append(lines, t.nodes(x)...)
	lines = append(lines, t.starts(x)...)
	lines = append(lines, t.room(x)...)
	lines = append(lines, t.holding(x)...)
	switch {
	case x.QueueDrained:
		lines = append(lines, line{"Queue", "an operator holds and drains it: nothing of " + x.Queue + " runs until its spec.hold is None"})
	case x.QueueHeld:
		lines = append(lines, line{"Queue", "an operator holds it: nothing of " + x.Queue + " starts until its spec.hold is None"})
	}
	lines = append(lines, t.admitted(x)...)
	if x.Revision != "" {
		lines = append(lines, line{"Rule", "policy revision " + short(x.Revision)})
	}
	lines = append(lines, adviceLines(x)...)
	lines = append(lines, t.events(x)...)
	for _, what := range append(unverified(x), x.Unread...) {
		lines = append(lines, line{"Note", what})
	}
	return lines
}

// unverified tells what is left to the scheduler of a Job that runs or is to run.
func unverified(x report.JobExplanation) []string {
	var names []string
	for _, ask := range x.Asks {
		names = append(names, ask.Unverified...)
	}
	if len(names) == 0 || !x.Waits() && x.State != report.StateAdmitted {
		return nil
	}
	return []string{reason.Unverified(names)}
}

func adviceLines(x report.JobExplanation) []line {
	if x.Advice == nil || x.Advice.Text == "" || strings.Contains(x.Message, "Try: ") {
		return nil // the message's own advice knows more
	}
	label := "Sooner"
	if x.Advice.CanEverRun == report.No {
		label = "To run"
	}
	return []line{{label, x.Advice.Text}}
}

func (t Text) events(x report.JobExplanation) []line {
	var lines []line
	for i, e := range x.Events {
		label := ""
		if i == 0 {
			label = "Events"
		}
		times := ""
		if e.Count > 1 {
			times = fmt.Sprintf(" (%d times)", e.Count)
		}
		lines = append(lines, line{label, fmt.Sprintf("%s ago  %s%s: %s", age(t.Now, e.Time), e.Reason, times, e.Message)})
	}
	return lines
}
