package report

import (
	"cmp"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/resource"
)

// remains are the pods of the queue whose Job holds no reservation: it is gone,
// was taken back, or runs without one. They are charged until they end.
func remains(e Evidence, short []QueueUsage) []Remains {
	reserved := map[string]bool{}
	for i := range e.Neighbours {
		row := NewJob(&e.Neighbours[i], nil)
		reserved[row.UID] = holds(row.State) && len(row.Reserved) > 0
	}
	byJob := map[string]*Remains{}
	for i := range e.Pods {
		pod := intake.Pod(&e.Pods[i])
		if pod == nil || reserved[pod.JobUID] {
			continue
		}
		held := ofShort(pod.Requests, short)
		if len(held) == 0 {
			continue
		}
		left, there := byJob[pod.JobUID]
		if !there {
			name := cmp.Or(e.Pods[i].Labels[batchv1.JobNameLabel], pod.Name)
			left = &Remains{Namespace: pod.Namespace, Job: name, Held: resource.List{}, Ending: true}
			byJob[pod.JobUID] = left
		}
		left.Pods++
		left.Held.AddTo(held, 1)
		left.Ending = left.Ending && pod.Deleting
	}
	var list []Remains
	for _, uid := range slices.Sorted(maps.Keys(byJob)) {
		list = append(list, *byJob[uid])
	}
	slices.SortStableFunc(list, func(a, b Remains) int { return cmp.Compare(a.Job, b.Job) })
	return list
}

// ofShort is the part of a list that is of the resources in question.
func ofShort(list resource.List, short []QueueUsage) resource.List {
	part := resource.List{}
	for _, u := range short {
		if amount := list[u.Resource]; amount > 0 {
			part[u.Resource] = amount
		}
	}
	return part
}
