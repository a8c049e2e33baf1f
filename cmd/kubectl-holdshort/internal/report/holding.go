package report

import (
	"cmp"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/resource"
)

// holding fills in who has what the Job waits for: of the rows in question, all
// that is used is either held by somebody who is named, or left over.
func (x *JobExplanation) holding(e Evidence, short []QueueUsage) {
	rest := resource.List{}
	for _, u := range short {
		rest[u.Resource] = resource.Add(rest[u.Resource], u.Used)
	}
	pods := podsByJob(e, short)
	named := map[string]bool{x.UID: true}
	take := func(uid string, h Holder) {
		if len(h.Reserved) > 0 {
			x.Holding = append(x.Holding, h)
			named[uid] = true
			rest.AddTo(h.Reserved, -1)
		}
	}
	loose := map[string]Holder{}
	for i := range e.Neighbours {
		uid := string(e.Neighbours[i].UID)
		if uid == x.UID {
			continue
		}
		h, sure := holderOf(&e.Neighbours[i], x.Queue, pods[uid], e.Pods != nil, short)
		if sure {
			take(uid, h)
		} else {
			loose[uid] = h
		}
	}
	// Which flavor a Job without a reservation is charged to, the policy knows
	// alone. If the others have all of this one, it is another.
	for _, uid := range slices.Sorted(maps.Keys(loose)) {
		if anyOf(rest, loose[uid].Reserved) {
			take(uid, loose[uid])
		}
	}
	slices.SortStableFunc(x.Holding, func(a, b Holder) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	x.Remains = remains(pods, named)
	for _, r := range x.Remains {
		rest.AddTo(r.Held, -1)
	}
	maps.DeleteFunc(rest, func(_ string, amount int64) bool { return amount <= 0 })
	if e.Everywhere {
		x.HeldUnnamed = rest
	} else {
		x.HeldElsewhere = rest
	}
}

// holderOf is what a Job of the queue holds, its pods what was read of them; and
// whether it is sure that it is of the flavor in question.
func holderOf(job *batchv1.Job, queue string, pods *Remains, podsRead bool, short []QueueUsage) (Holder, bool) {
	row, d := newJob(job, nil)
	h := Holder{Namespace: row.Namespace, Name: row.Name, State: row.State, Since: row.Since, Ending: row.State == StateDeleting}
	switch {
	case row.Queue != queue:
	case row.State == StateAdmitted, row.State == StateDeleting && !podsRead:
		h.Reserved = reservedOf(d.Reservation, short)
	case row.State == StateDeleting && pods != nil:
		h.Reserved = pods.Held
	case row.State == StateBypassed, row.State == StateUncharged:
		h.Reserved = looseOf(d, pods, short)
		return h, false
	}
	return h, true
}

// anyOf tells whether there is any of what is wanted.
func anyOf(have, want resource.List) bool {
	for name := range want {
		if have[name] > 0 {
			return true
		}
	}
	return false
}

// reservedOf is what a reservation has of the rows in question.
func reservedOf(r *demand.Reservation, short []QueueUsage) resource.List {
	total := resource.List{}
	if r == nil {
		return total
	}
	for _, set := range r.PodSets {
		total.AddTo(partOf(set.Total(), set.Flavors, short), 1)
	}
	return total
}

// looseOf is what is charged for a Job without a reservation: what it may have,
// or what its pods have if that is more.
func looseOf(d *demand.Job, pods *Remains, short []QueueUsage) resource.List {
	may := resource.List{}
	for _, set := range d.PodSets {
		may.AddTo(partOf(set.Requests, nil, short), set.Count)
	}
	if pods == nil {
		return may
	}
	return resource.Max(may, pods.Held)
}

// partOf is the part of a list that is of the rows in question. Without flavors
// nobody knows which it is on, so any will do.
func partOf(list resource.List, flavors map[string]string, short []QueueUsage) resource.List {
	part := resource.List{}
	for i := range short {
		u := &short[i]
		if amount := u.chargedFor(list); amount > 0 && (flavors == nil || u.isOn(flavors)) {
			part[u.Resource] = amount
		}
	}
	return part
}

// isOn tells whether what is charged as the row is on its flavor: by its own name, or by
// that of what it is charged for, where another policy gave the flavor.
func (u *QueueUsage) isOn(flavors map[string]string) bool {
	if flavor, known := flavors[u.Resource]; known {
		return flavor == u.Flavor
	}
	for name := range u.Counts {
		if flavors[name] == u.Flavor {
			return true
		}
	}
	return false
}

// podsByJob is what the pods that were read hold of the rows in question, by the
// UID of their Job.
func podsByJob(e Evidence, short []QueueUsage) map[string]*Remains {
	byJob := map[string]*Remains{}
	seen := map[string]bool{}
	for i := range e.Pods {
		pod := intake.Pod(&e.Pods[i], nil)
		if pod == nil || pod.UID != "" && seen[pod.UID] {
			continue
		}
		seen[pod.UID] = true
		held := partOf(pod.Requests, pod.Flavors, short)
		if len(held) == 0 {
			continue
		}
		key := cmp.Or(pod.JobUID, pod.Namespace+"/"+pod.Name) // of no Job that is known
		left, there := byJob[key]
		if !there {
			name := cmp.Or(e.Pods[i].Labels[batchv1.JobNameLabel], pod.Name)
			left = &Remains{Namespace: pod.Namespace, Job: name, Held: resource.List{}, Ending: true}
			byJob[key] = left
		}
		left.Pods++
		left.Held.AddTo(held, 1)
		left.Ending = left.Ending && pod.Deleting
	}
	return byJob
}

// remains are the pods of the queue whose Job holds nothing by itself: it is
// gone, or was taken back. They are charged until they end.
func remains(pods map[string]*Remains, named map[string]bool) []Remains {
	var list []Remains
	for _, uid := range slices.Sorted(maps.Keys(pods)) {
		if !named[uid] {
			list = append(list, *pods[uid])
		}
	}
	slices.SortStableFunc(list, func(a, b Remains) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Job, b.Job))
	})
	return list
}
