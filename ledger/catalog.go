package ledger

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// catalogState is when a catalog that reads time or machines was evaluated, and
// with what.
type catalogState struct {
	revision string
	minute   time.Time // that it was evaluated for
	counted  time.Time // when the machines were counted
	machines damper
	failed   string // what went wrong the last time
}

// freshCatalog evaluates the catalog again when what it reads has changed; it
// returns when that has to be looked at next. If it fails, the last good one of
// this revision stands: nothing that runs depends on it, and nothing is guessed.
func (l *Loop) freshCatalog(ctx context.Context, revision *engine.Revision, now time.Time) time.Duration {
	if revision == nil {
		return auditEvery
	}
	readsTime, readsMachines := revision.ReadsPart("catalog", "now_ns"), revision.ReadsPart("catalog", "capacity")
	if !readsTime && !readsMachines {
		return auditEvery
	}
	c := &l.catalog
	due := c.revision != revision.Digest()
	if due {
		*c = catalogState{revision: revision.Digest()}
	}
	next := auditEvery
	if minute := now.Truncate(time.Minute); readsTime {
		due = due || !minute.Equal(c.minute)
		c.minute, next = minute, minute.Add(time.Minute).Sub(now)
	}
	if readsMachines {
		if now.Sub(c.counted) >= capacityEvery || now.Before(c.counted) {
			c.counted = now
			moved := c.machines.see(decide.Stock(l.book.Snapshot(), revision.Catalog().Flavors), now)
			due = due || moved
		}
		next = min(next, capacityEvery-now.Sub(c.counted))
	}
	if due {
		l.evaluateCatalog(ctx, revision, now)
	}
	return next
}

func (l *Loop) evaluateCatalog(ctx context.Context, revision *engine.Revision, now time.Time) {
	catalog, err := revision.EvaluateCatalog(ctx, now, l.catalog.machines.totals())
	if err != nil {
		l.catalogFailed(err)
		return
	}
	if l.catalog.failed != "" {
		l.catalog.failed = ""
		l.policyEvent(corev1.EventTypeNormal, "CatalogEvaluated", "the catalog of revision "+revision.Digest()+" has an answer again")
	}
	l.book.SetIgnored(catalog.Resources.Ignored)
	for _, entrypoint := range []string{"classify", "deny"} {
		// They see neither by themselves; so they ask the catalog, which does.
		if revision.ReadsPart(entrypoint, "now_ns") || revision.ReadsPart(entrypoint, "capacity") {
			for uid, t := range l.jobs {
				l.stale[uid] = t
			}
		}
	}
}

// catalogFailed says so once for each way to fail.
func (l *Loop) catalogFailed(err error) {
	if err.Error() == l.catalog.failed {
		return
	}
	l.catalog.failed = err.Error()
	l.Log.Error(err, "the catalog could not be evaluated again; the last good one of this revision stands")
	l.policyEvent(corev1.EventTypeWarning, "CatalogFailed", err.Error()+"; the last good catalog of this revision stands")
}

func (l *Loop) policyEvent(kind, why, note string) {
	about := &v1alpha1.PolicyRollout{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyRolloutName}}
	l.Events.Eventf(about, nil, kind, why, "Evaluate", "%s", reason.Note(note))
}

// damper tells what the machines have so that nothing follows from a node that
// comes and goes: an amount moves only after it was larger, or smaller, without a
// break for capacityStands, and then no further than it was all that time. What
// is seen for the first time counts at once.
type damper struct {
	cells map[[2]string]*dampedTotals // by flavor and resource
}

type dampedTotals struct{ allocatable, unhealthy, held damped }

// see takes in what the machines have now, and tells whether anything moved.
func (d *damper) see(now policies.CatalogCapacity, at time.Time) bool {
	if d.cells == nil {
		d.cells = map[[2]string]*dampedTotals{}
	}
	for flavor, totals := range now {
		for name := range totals {
			if key := [2]string{flavor, name}; d.cells[key] == nil {
				d.cells[key] = &dampedTotals{}
			}
		}
	}
	moved := false
	for key, cell := range d.cells {
		totals := now[key[0]][key[1]]
		moved = cell.allocatable.see(totals.Allocatable, at) || moved
		moved = cell.unhealthy.see(totals.Unhealthy, at) || moved
		moved = cell.held.see(totals.Held, at) || moved
	}
	return moved
}

func (d *damper) totals() policies.CatalogCapacity {
	all := policies.CatalogCapacity{}
	for key, cell := range d.cells {
		if all[key[0]] == nil {
			all[key[0]] = map[string]policies.Totals{}
		}
		all[key[0]][key[1]] = policies.Totals{
			Allocatable: cell.allocatable.stands, Unhealthy: cell.unhealthy.stands, Held: cell.held.stands,
		}
	}
	return all
}

// damped is one amount.
type damped struct {
	known  bool
	stands int64
	// since is when it was last not what stands, on the side of nearest; zero
	// while it is.
	since   time.Time
	nearest int64 // to what stands, of all that was seen since
}

func (d *damped) see(amount int64, at time.Time) bool {
	switch {
	case !d.known:
		*d = damped{known: true, stands: amount}
		return true
	case amount == d.stands:
		d.since = time.Time{}
		return false
	case d.since.IsZero() || (amount > d.stands) != (d.nearest > d.stands):
		d.since, d.nearest = at, amount
		return false
	case amount > d.stands:
		d.nearest = min(d.nearest, amount)
	default:
		d.nearest = max(d.nearest, amount)
	}
	if at.Sub(d.since) < capacityStands {
		return false
	}
	d.stands, d.since = d.nearest, time.Time{}
	if amount != d.stands {
		d.since, d.nearest = at, amount
	}
	return true
}
