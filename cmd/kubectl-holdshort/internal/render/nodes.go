package render

import (
	"fmt"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/reason"
)

// nodes says how the nodes look to a Job that waits for them, a line for each group.
func (t Text) nodes(x report.JobExplanation) []line {
	var lines []line
	for _, flavor := range x.Nodes {
		label, of := "", flavor.Flavor+": "
		if len(lines) == 0 {
			label = "Nodes"
			if x.NodesAt != nil {
				of = fmt.Sprintf("as of %s ago, %s", age(t.Now, *x.NodesAt), of)
			}
		}
		if len(flavor.Groups) == 0 {
			lines = append(lines, line{label, of + "no node has its labels"})
		}
		for i, g := range flavor.Groups {
			if i > 0 {
				label, of = "", "  "
			}
			lines = append(lines, line{label, of + groupText(g)})
		}
	}
	return lines
}

func groupText(g reason.NodeGroup) string {
	who := fmt.Sprintf("%d nodes", g.Nodes)
	if g.Nodes == 1 {
		who = "1 node"
		if g.Node != "" {
			who += " (" + g.Node + ")"
		}
	}
	switch {
	case g.Pods == 0:
	case g.Nodes == 1:
		who += " takes " + podsText(g.Pods)
	default:
		who += " take " + podsText(g.Pods) + " each"
	}
	return who + ": " + g.Why
}
