package report

import (
	"time"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
)

// nodes fills in how the nodes look to a waiting Job: to the head of a queue as of now,
// to others as of the moment at which they were told why they wait.
func (x *JobExplanation) nodes(e Evidence) {
	if e.Queue != nil {
		if head := e.Queue.Status.Head; head != nil && head.Namespace == x.Namespace && head.Name == x.Name && head.Reason == x.Code && len(head.Nodes) > 0 {
			x.Nodes = ofQueue(head.Nodes)
			return
		}
	}
	if told := intake.Nodes(e.Job); told != nil {
		at := time.Unix(0, told.Time).UTC()
		x.Nodes, x.NodesAt = told.Flavors, &at
	}
}

func ofQueue(status []v1alpha1.FlavorNodes) []reason.FlavorNodes {
	var all []reason.FlavorNodes
	for _, flavor := range status {
		of := reason.FlavorNodes{Flavor: flavor.Flavor}
		for _, g := range flavor.Groups {
			of.Groups = append(of.Groups, reason.NodeGroup(g))
		}
		all = append(all, of)
	}
	return all
}
