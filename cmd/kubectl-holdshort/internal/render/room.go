package render

import (
	"fmt"
	"strings"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/demand"
)

// room says for whom the Job was taken back, and who makes room for it.
func (t Text) room(x report.JobExplanation) []line {
	var lines []line
	if g := x.GaveWay; g != nil {
		lines = append(lines, line{"Gave way", fmt.Sprintf("%s ago to %s, %s (%s)%s",
			age(t.Now, g.Since), whom(*g), rightText(g.Right), g.Right, since(*g))})
	}
	var parts []string
	for i, r := range x.RoomFrom {
		if i == holdersMax {
			parts = append(parts, fmt.Sprintf("%d more Jobs", len(x.RoomFrom)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s/%s of queue %s, taken back %s ago (%s), %s still ending",
			r.Namespace, r.Name, orDash(r.Queue), age(t.Now, r.Since), r.Right, podsText(r.Pods)))
	}
	if len(parts) > 0 {
		lines = append(lines, line{"Room of", strings.Join(parts, " · ")})
	}
	return lines
}

func whom(g report.GaveWay) string {
	switch {
	case g.Name != "":
		return fmt.Sprintf("%s/%s of queue %s", g.Namespace, g.Name, orDash(g.Queue))
	case g.Gone:
		return "a Job that is gone"
	}
	return "a Job that you may not read"
}

// since is what the other does now.
func since(g report.GaveWay) string {
	switch g.State {
	case "":
		return ""
	case report.StateAdmitted:
		return "; it runs"
	case report.StateComplete, report.StateFailed:
		return "; it is over"
	}
	return "; it is " + g.State
}

// rightText says in words why the other may.
func rightText(right string) string {
	switch demand.Right(right) {
	case demand.InQueue:
		return "which goes before it in the same queue"
	case demand.InCohortReclamation:
		return "which takes back what is its own"
	case demand.InCohortReclaimWhileBorrowing:
		return "which is more important, and borrows"
	case demand.InCohortFairSharing:
		return "whose queue has the smaller share"
	}
	return "by a right that this version does not know"
}
