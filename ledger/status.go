package ledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/apply"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	counting "github.com/holdshort/holdshort/ledger/resource"
)

// conditionActive is false on a queue that left the policy while Jobs are still
// charged to it.
const conditionActive = "Active"

// published is what was written of one queue, and when.
type published struct {
	status  v1alpha1.QueueStatus
	at      time.Time
	writing bool
}

// publish writes the status of the queues that changed, each at most every two
// seconds; it returns when the next one is due.
func (l *Loop) publish(now time.Time) time.Duration {
	next := auditEvery
	for _, name := range l.unpublished() {
		p := l.published[name]
		if p == nil {
			p = &published{}
			if queue := l.world.queues[name]; queue != nil {
				p.status = queue.Status
			}
			l.published[name] = p
		}
		if wait := statusEvery - now.Sub(p.at); wait > 0 || p.writing {
			next = min(next, max(wait, statusEvery/10))
			continue
		}
		delete(l.toPublish, name)
		state, there := l.planner.Queue(name)
		if !there {
			continue
		}
		want := queueStatus(&state, l.revision(), p.status.Conditions, l.book.Snapshot().Rates())
		if state.Head != nil {
			want.Head.Nodes = nodesStatus(l.planner.Nodes(state.Head.UID))
		}
		want.Starts = l.startsOf(name, p.status.Starts, now)
		if exists := l.world.queues[name] != nil; exists && equality.Semantic.DeepEqual(want, p.status) {
			continue
		}
		if l.talk.full() || !l.may(now, l.talk.statuses) {
			l.toPublish[name] = true
			next = min(next, statusEvery/10)
			break
		}
		p.at = now
		l.writeQueue(name, p, want)
	}
	l.dropQueues(now)
	return next
}

// unpublished is the queues of which something is new, those first that were not
// written for the longest time.
func (l *Loop) unpublished() []string {
	at := func(name string) int64 {
		if p := l.published[name]; p != nil && !p.at.IsZero() {
			return p.at.UnixNano()
		}
		return 0
	}
	names := slices.Collect(maps.Keys(l.toPublish))
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a, b)) })
	return names
}

func (l *Loop) writeQueue(name string, p *published, want v1alpha1.QueueStatus) {
	p.writing = true
	known := l.world.queues[name]
	l.talk.work <- func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		queue, err := apply.QueueStatus(ctx, l.Client, name, known, want)
		l.inbox.put(func(b *batch) { b.queueWritten = append(b.queueWritten, queueWritten{name, known, queue, want, err}) })
	}
}

// queueWritten is the report of a status write.
type queueWritten struct {
	name   string
	known  *v1alpha1.Queue // that it was written on
	queue  *v1alpha1.Queue // what it is now
	status v1alpha1.QueueStatus
	err    error
}

func (l *Loop) observeQueueWritten(w queueWritten) {
	p := l.published[w.name]
	if p == nil {
		return
	}
	p.writing = false
	l.toPublish[w.name] = true // what changed meanwhile, and what was not written
	if apierrors.IsConflict(w.err) || apierrors.IsAlreadyExists(w.err) {
		return // somebody set its hold meanwhile; the next round writes on what it is now
	}
	if apierrors.IsUnauthorized(w.err) {
		l.Log.Error(w.err, "queue status not written: the API server does not know who this is. Try: a new token, and a restart (a chart that is installed anew has a new account)")
		return
	}
	if w.err != nil {
		l.Log.Error(w.err, "queue status not written; trying again")
		return
	}
	p.status = w.status
	if w.known != nil && l.world.queues[w.name] == w.known {
		l.world.queues[w.name] = w.queue // the watch says so later
	}
}

// dropQueues deletes the Queues that left the policy and that nothing is
// charged to any more; one that an operator holds stays.
func (l *Loop) dropQueues(now time.Time) {
	if l.Policy() == nil {
		return // without a policy nobody knows what left it
	}
	for name, queue := range l.world.queues {
		p := l.published[name]
		if l.talk.full() {
			return
		}
		if l.planner.Has(name) || queue.Spec.Hold.Holds() || p != nil && now.Sub(p.at) < statusEvery {
			continue
		}
		l.published[name] = &published{at: now}
		l.talk.work <- func(ctx context.Context) {
			if err := apply.DropQueue(ctx, l.Client, queue); err != nil {
				l.Log.Error(err, "queue that left the policy is not deleted", "queue", name)
			}
		}
	}
}

func queueStatus(state *decide.QueueState, revision string, conditions []metav1.Condition, rates counting.Rates) v1alpha1.QueueStatus {
	status := v1alpha1.QueueStatus{
		Pending: int64(state.Pending), Admitted: int64(state.Admitted), Revision: revision,
		Conditions: slices.Clone(conditions),
	}
	var summary []string
	for _, row := range state.Rows {
		available := quantity(row.Resource, row.Left)
		status.Usage = append(status.Usage, v1alpha1.QueueUsage{
			Flavor: row.Flavor, Resource: row.Resource,
			Used: quantity(row.Resource, row.Usage), Limit: quantity(row.Resource, row.Nominal),
			Available: &available, Borrowed: some(row.Resource, row.Borrowed), Lent: some(row.Resource, row.Lent),
			Counts: counts(rates, row.Resource),
		})
		summary = append(summary, summaryOf(row))
	}
	status.Summary = strings.Join(summary, ", ")
	if w := state.Head; w != nil {
		namespace, name, _ := strings.Cut(w.Key, "/")
		status.Head = &v1alpha1.QueueHead{Namespace: namespace, Name: name, Reason: string(w.Reason.Code), Message: w.Reason.Message}
	}
	if len(state.Reasons) > 0 {
		status.Reasons = make(map[string]int64, len(state.Reasons))
	}
	for code, n := range state.Reasons {
		status.Reasons[string(code)] = n
	}
	active := metav1.Condition{Type: conditionActive, Status: metav1.ConditionTrue, Reason: "InPolicy", Message: "the policy has this queue"}
	if !state.InPolicy {
		active.Status, active.Reason = metav1.ConditionFalse, "NotInPolicy"
		active.Message = "the policy no longer has this queue; it stays while Jobs are charged to it"
	}
	meta.SetStatusCondition(&status.Conditions, active)
	return status
}

func nodesStatus(all []reason.FlavorNodes) []v1alpha1.FlavorNodes {
	var status []v1alpha1.FlavorNodes
	for _, flavor := range all {
		of := v1alpha1.FlavorNodes{Flavor: flavor.Flavor}
		for _, g := range flavor.Groups {
			of.Groups = append(of.Groups, v1alpha1.NodeGroup(g))
		}
		status = append(status, of)
	}
	return status
}

// counts is what is charged as a resource, where that is more than itself.
func counts(rates counting.Rates, name string) map[string]int64 {
	sources := rates.Sources(name)
	if len(sources) < 2 {
		return nil
	}
	each := make(map[string]int64, len(sources))
	for _, source := range sources {
		each[source.Resource] = source.Each
	}
	return each
}

// summaryOf is one row for a table: 4/8 nvidia.com/gpu on h100.
func summaryOf(row quota.Row) string {
	return fmt.Sprintf("%s/%s %s on %s",
		reason.Amount(row.Resource, row.Usage), reason.Amount(row.Resource, row.Nominal), row.Resource, row.Flavor)
}

// some is an amount, nil if it is none.
func some(name string, amount int64) *resource.Quantity {
	if amount <= 0 {
		return nil
	}
	q := quantity(name, amount)
	return &q
}

// quantity is an amount in the unit that people write.
func quantity(name string, amount int64) resource.Quantity {
	switch {
	case name == "cpu":
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case name == "memory" || name == "ephemeral-storage" || strings.HasPrefix(name, "hugepages-"):
		return *resource.NewQuantity(amount, resource.BinarySI)
	}
	return *resource.NewQuantity(amount, resource.DecimalSI)
}
