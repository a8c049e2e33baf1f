package report

import (
	"cmp"
	"maps"
	"slices"

	quantity "k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/reason"
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
		InLine:   inLine(q),
		Admitted: q.Status.Admitted,
		Usage:    usage(q),
		Summary:  q.Status.Summary,
		Reasons:  q.Status.Reasons,
		Held:     q.Spec.Hold.Holds(),
		Drained:  q.Spec.Hold == v1alpha1.HoldDrain,
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

// inLine is how many of the waiting Jobs start as soon as there is room. The
// others are held back by something else, and have no rank.
func inLine(q *v1alpha1.Queue) int64 {
	total := int64(0)
	for code, jobs := range q.Status.Reasons {
		if reason.Of(reason.Code(code)).Group.InLine() {
			total += jobs
		}
	}
	return total
}

// MainReason is the most frequent of the reasons why Jobs of the queue wait, and
// how many have it; of two equally frequent ones, the first by name.
func (q Queue) MainReason() (string, int64) {
	main, most := "", int64(0)
	for _, code := range slices.Sorted(maps.Keys(q.Reasons)) {
		if q.Reasons[code] > most {
			main, most = code, q.Reasons[code]
		}
	}
	return main, most
}

// usage in the order of flavor and resource. An amount beyond counting is left
// out: the ledger never publishes one.
func usage(q *v1alpha1.Queue) []QueueUsage {
	rows := make([]QueueUsage, 0, len(q.Status.Usage))
	for _, u := range q.Status.Usage {
		used, errUsed := policies.Amount(u.Resource, u.Used)
		limit, errLimit := policies.Amount(u.Resource, u.Limit)
		if errUsed != nil || errLimit != nil {
			continue
		}
		row := QueueUsage{Flavor: u.Flavor, Resource: u.Resource, Used: used, Limit: limit, Available: max(0, limit-used), Counts: u.Counts}
		if u.Available != nil { // else the manager is an older one, where nobody borrows
			if available, err := policies.Amount(u.Resource, *u.Available); err == nil {
				row.Available = available
			}
		}
		row.Borrowed, row.Lent = optional(u.Resource, u.Borrowed), optional(u.Resource, u.Lent)
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b QueueUsage) int {
		return cmp.Or(cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Resource, b.Resource))
	})
	return rows
}

func optional(name string, q *quantity.Quantity) int64 {
	if q == nil {
		return 0
	}
	n, err := policies.Amount(name, *q)
	if err != nil {
		return 0
	}
	return n
}
