package report

import (
	"cmp"
	"slices"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies"
)

// Queues makes the rows of the queues, by name.
func Queues(list *v1alpha1.QueueList) QueueList {
	rows := QueueList{Kind: Kind{APIVersion, "QueueList"}, Items: make([]Queue, 0, len(list.Items))}
	for i := range list.Items {
		rows.Items = append(rows.Items, NewQueue(&list.Items[i]))
	}
	slices.SortFunc(rows.Items, func(a, b Queue) int { return cmp.Compare(a.Name, b.Name) })
	return rows
}

// NewQueue makes the row of one queue.
func NewQueue(q *v1alpha1.Queue) Queue {
	row := Queue{
		Kind:     Kind{APIVersion, "Queue"},
		Name:     q.Name,
		Pending:  q.Status.Pending,
		Admitted: q.Status.Admitted,
		Usage:    usage(q),
		Summary:  q.Status.Summary,
		Reasons:  q.Status.Reasons,
		Held:     q.Spec.Hold == v1alpha1.HoldStart,
		Revision: q.Status.Revision,
		Created:  q.CreationTimestamp.UTC(),
	}
	if head := q.Status.Head; head != nil {
		row.Head = &QueueHead{
			Namespace: head.Namespace, Name: head.Name, Code: head.Reason, Message: head.Message,
		}
	}
	return row
}

// usage in the order of flavor and resource. An amount beyond counting is left
// out: the ledger never publishes one.
func usage(q *v1alpha1.Queue) []QueueUsage {
	rows := make([]QueueUsage, 0, len(q.Status.Usage))
	for _, u := range q.Status.Usage {
		used, errUsed := policies.Amount(u.Resource, u.Used)
		limit, errLimit := policies.Amount(u.Resource, u.Limit)
		if errUsed == nil && errLimit == nil {
			rows = append(rows, QueueUsage{Flavor: u.Flavor, Resource: u.Resource, Used: used, Limit: limit})
		}
	}
	slices.SortFunc(rows, func(a, b QueueUsage) int {
		return cmp.Or(cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Resource, b.Resource))
	})
	return rows
}
