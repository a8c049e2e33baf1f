package ledger

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies/engine"
)

// catalogState is when a catalog that reads time or machines was evaluated, and
// with what.
type catalogState struct {
	of       *engine.Revision
	minute   time.Time // that it was evaluated for
	counted  time.Time // when the machines were counted
	machines damper
	failed   string // what went wrong the last time
}

// freshCatalogs evaluates the catalog again when what it reads has changed, and
// has the shadow do the same; it returns when that has to be looked at next.
func (l *Loop) freshCatalogs(ctx context.Context, revision *engine.Revision, now time.Time) time.Duration {
	due, next := l.catalogDue(&l.catalog, revision, now)
	if due {
		l.evaluateCatalog(ctx, revision, now)
	}
	shadow := l.Shadow.Revision()
	due, later := l.catalogDue(&l.beside, shadow, now)
	if due {
		l.Shadow.Refresh(shadow, now, l.beside.machines.totals())
	}
	return min(next, later)
}

// catalogDue tells whether a revision's catalog has to be evaluated again, and
// when to look next.
func (l *Loop) catalogDue(c *catalogState, revision *engine.Revision, now time.Time) (due bool, next time.Duration) {
	if revision == nil {
		return false, auditEvery
	}
	readsTime, readsMachines := revision.ReadsPart("catalog", "now_ns"), revision.ReadsPart("catalog", "capacity")
	if !readsTime && !readsMachines {
		return false, auditEvery
	}
	if due = c.of != revision; due {
		*c = catalogState{of: revision}
	}
	next = auditEvery
	if minute := now.Truncate(time.Minute); readsTime {
		due = due || !minute.Equal(c.minute)
		c.minute, next = minute, minute.Add(time.Minute).Sub(now)
	}
	if readsMachines {
		if now.Sub(c.counted) >= capacityEvery || now.Before(c.counted) {
			c.counted = now
			moved := c.machines.see(decide.Stock(l.book.Snapshot(), revision.Catalog()), now)
			due = due || moved
		}
		next = min(next, capacityEvery-now.Sub(c.counted))
	}
	return due, next
}

// evaluateCatalog of the revision in force. If it fails, the last good one of
// this revision stands: nothing that runs depends on it, and nothing is guessed.
func (l *Loop) evaluateCatalog(ctx context.Context, revision *engine.Revision, now time.Time) {
	catalog, err := revision.EvaluateCatalog(ctx, now, l.catalog.machines.totals())
	if err != nil {
		l.catalogFailed(err)
		return
	}
	if l.catalog.failed != "" {
		l.catalog.failed = ""
		l.policyEvent(corev1.EventTypeNormal, "CatalogEvaluated", "the catalog of revision "+engine.Short(revision.Digest())+" has an answer again")
	}
	l.book.Follow(catalog)
	if !maps.Equal(l.perDevice, catalog.Resources.PerDevice) {
		l.PolicyChanged() // so that the next round counts by it
	}
	for _, entrypoint := range []string{"classify", "mutate", "deny"} {
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

func (l *Loop) policyEvent(kind, why, note string) { l.eventOfAll(kind, why, "Evaluate", note) }

// eventOfAll tells something that is about no Job.
func (l *Loop) eventOfAll(kind, why, action, note string) {
	about := &v1alpha1.PolicyRollout{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyRolloutName}}
	l.Events.Eventf(about, nil, kind, why, action, "%s", reason.Note(note))
}
