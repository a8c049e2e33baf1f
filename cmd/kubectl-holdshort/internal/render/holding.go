package render

import (
	"fmt"
	"strings"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/resource"
)

// holdersMax is how many are named one by one; -o json has all.
const holdersMax = 8

// holding says who has what the Job waits for.
func (t Text) holding(x report.JobExplanation) []line {
	var parts []string
	more := resource.List{}
	for i, h := range x.Holding {
		if i >= holdersMax {
			more.AddTo(h.Reserved, 1)
			continue
		}
		parts = append(parts, t.holderText(h))
	}
	if over := len(x.Holding) - holdersMax; over > 0 {
		parts = append(parts, fmt.Sprintf("%s by %d more Jobs", amounts(more), over))
	}
	for _, r := range x.Remains {
		parts = append(parts, remainsText(r))
	}
	if len(x.HeldElsewhere) > 0 {
		parts = append(parts, amounts(x.HeldElsewhere)+" by Jobs that you may not read")
	}
	if len(x.HeldUnnamed) > 0 {
		parts = append(parts, amounts(x.HeldUnnamed)+" by what is not shown (the queue's numbers are of a moment ago)")
	}
	if len(parts) == 0 {
		return nil
	}
	return []line{{"Holding", strings.Join(parts, " · ")}}
}

func (t Text) holderText(h report.Holder) string {
	what := fmt.Sprintf("%s/%s %s", h.Namespace, h.Name, amounts(h.Reserved))
	switch h.State {
	case report.StateDeleting:
		return what + ", being deleted"
	case report.StateBypassed:
		what += " (bypassed)"
	case report.StateUncharged:
		what += " (not admitted)"
	}
	return what + " for " + age(t.Now, h.Since)
}

func remainsText(r report.Remains) string {
	state := ", still ending"
	if !r.Ending {
		state = " (not admitted)"
	}
	return fmt.Sprintf("%s by %s of %s/%s%s", amounts(r.Held), podsText(r.Pods), r.Namespace, r.Job, state)
}

func podsText(count int64) string {
	if count == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", count)
}
