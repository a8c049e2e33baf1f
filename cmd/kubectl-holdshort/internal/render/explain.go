package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
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
	pods := fmt.Sprintf("%d pods", a.Pods)
	if a.Pods == 1 {
		pods = "1 pod"
	}
	if what := amounts(a.Requests); what != dash {
		return pods + " × " + what
	}
	return pods
}

func rankText(x report.JobExplanation) string {
	switch {
	case x.Position == 0:
		return ""
	case x.Pending > 0:
		return fmt.Sprintf("rank %d of %d", x.Position, x.Pending)
	}
	return fmt.Sprintf("rank %d", x.Position)
}

func (t Text) body(x report.JobExplanation) []line {
	var lines []line
	lines = append(lines, t.why(x)...)
	lines = append(lines, nowLines(x)...)
	lines = append(lines, t.holding(x)...)
	lines = append(lines, t.admitted(x)...)
	if x.Revision != "" {
		lines = append(lines, line{"Rule", "policy revision " + short(x.Revision)})
	}
	lines = append(lines, adviceLines(x)...)
	lines = append(lines, t.events(x)...)
	for _, what := range x.Unread {
		lines = append(lines, line{"Note", what})
	}
	return lines
}

// nowLines are the queue's present numbers, which move after the reason was
// written on the Job.
func nowLines(x report.JobExplanation) []line {
	var lines []line
	for _, u := range x.Now {
		asked := askedOf(x.Asks, u.Resource)
		left := max(0, resource.Sub(u.Limit, u.Used))
		text := fmt.Sprintf("%s uses %s of %s %s on %s; %s asked, %s left",
			x.Queue, reason.Amount(u.Resource, u.Used), reason.Amount(u.Resource, u.Limit), u.Resource, u.Flavor,
			reason.Amount(u.Resource, asked), reason.Amount(u.Resource, left))
		if text != x.Message { // nothing has moved
			lines = append(lines, line{"Now", text})
		}
	}
	return lines
}

func askedOf(asks []report.Ask, name string) int64 {
	total := int64(0)
	for _, a := range asks {
		total = resource.Add(total, resource.Mul(a.Requests[name], a.Pods))
	}
	return total
}

func (t Text) holding(x report.JobExplanation) []line {
	var parts []string
	for _, h := range x.Holding {
		what := fmt.Sprintf("%s/%s %s for %s", h.Namespace, h.Name, amounts(h.Reserved), age(t.Now, h.Since))
		if h.Ending {
			what = fmt.Sprintf("%s/%s %s, being deleted", h.Namespace, h.Name, amounts(h.Reserved))
		}
		parts = append(parts, what)
	}
	for _, r := range x.Remains {
		parts = append(parts, remainsText(r))
	}
	if len(x.HeldElsewhere) > 0 {
		who := " by Jobs of the queue in other namespaces"
		if len(x.Unread) > 0 {
			who = " by others of the queue" // whoever could not be read
		}
		parts = append(parts, amounts(x.HeldElsewhere)+who)
	}
	if len(parts) == 0 {
		return nil
	}
	return []line{{"Holding", strings.Join(parts, " · ")}}
}

func remainsText(r report.Remains) string {
	pods := fmt.Sprintf("%d pods", r.Pods)
	if r.Pods == 1 {
		pods = "1 pod"
	}
	state := ", still ending"
	if !r.Ending {
		state = ", without a reservation"
	}
	return fmt.Sprintf("%s by %s of %s/%s%s", amounts(r.Held), pods, r.Namespace, r.Job, state)
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
