//go:build plane

package placement_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/setting"
)

// clusters in continuous integration; make differential plays more.
const clusters = 40

// tally is how often what was said, over all clusters; byClaims of Jobs with claims,
// mounting of Jobs with volumes.
type tally struct{ yes, no, stricter, byClaims, mounting, kept int }

func TestWhoIsLetGoIsPlacedAndWhoIsNotWouldNotBe(t *testing.T) {
	first, count := setting.Number(t, "HOLDSHORT_SEED", 0, 1), setting.Number(t, "HOLDSHORT_CLUSTERS", 0, clusters)
	p := startPlane(t)
	var sum tally
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { play(t, p, draw(seed), &sum) })
	}
	t.Logf("%d clusters: %d Jobs let go and placed, %d held that the scheduler would not place, %d that it would; %d of those let go have claims and %d volumes, as %d of those held", count, sum.yes, sum.no, sum.stricter, sum.byClaims, sum.mounting, sum.kept)
	if count >= clusters && (sum.yes < int(count)/2 || sum.no < int(count)/4 || sum.byClaims < int(count)/8 ||
		sum.mounting < int(count)/16 || sum.kept < int(count)/8) {
		t.Errorf("%d let go, %d of them with claims, %d with volumes, %d held, %d with volumes, of %d clusters: what is drawn decides too little",
			sum.yes, sum.byClaims, sum.mounting, sum.no, sum.kept, count)
	}
}

func play(t *testing.T, p *cluster.Cluster, c *drawn, sum *tally) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	g := &game{drawn: c, plane: p, client: p.Client, ns: fmt.Sprintf("c%d", c.Seed)}
	defer func() {
		if t.Failed() {
			t.Logf("the cluster; HOLDSHORT_SEED=%d HOLDSHORT_CLUSTERS=1 plays it again:\n%s", c.Seed, c.text())
		}
		must(t, g.tearDown(context.WithoutCancel(ctx)))
	}()
	must(t, g.setUp(ctx))
	last := g.letGo(t, ctx, sum)
	for _, w := range last.Waiting {
		g.tryHeld(t, ctx, g.job(strings.TrimPrefix(w.Key, g.ns+"/")), w, sum)
	}
}

func (g *game) job(name string) *batchv1.Job {
	return g.Jobs[slices.IndexFunc(g.Jobs, func(j *batchv1.Job) bool { return j.Name == name })]
}

// letGo admits whoever may go, and looks where the pods land, until nobody may.
func (g *game) letGo(t *testing.T, ctx context.Context, sum *tally) decide.Result {
	t.Helper()
	for {
		plan, err := g.plan(ctx)
		must(t, err)
		names, err := g.admit(ctx, plan)
		must(t, err)
		if len(names) == 0 {
			return plan
		}
		for _, name := range names {
			_, missing, err := g.landed(ctx, name)
			must(t, err)
			if missing != "" {
				t.Errorf("a false yes: %s was let go, but %s", name, missing)
			}
			sum.yes++
			if len(g.job(name).Spec.Template.Spec.ResourceClaims) > 0 {
				sum.byClaims++
			}
			if len(g.job(name).Spec.Template.Spec.Volumes) > 0 {
				sum.mounting++
			}
		}
	}
}

// tryHeld lets a Job go that the ledger holds, and takes it back. All that was let
// go before is bound by now.
func (g *game) tryHeld(t *testing.T, ctx context.Context, job *batchv1.Job, w decide.Waiting, sum *tally) {
	t.Helper()
	before, err := g.allocated(ctx)
	must(t, err)
	must(t, g.suspend(ctx, job.Name, false))
	pods, missing, err := g.landed(ctx, job.Name)
	must(t, err)
	if len(job.Spec.Template.Spec.Volumes) > 0 {
		sum.kept++
	}
	switch {
	case missing != "":
		sum.no++
	case slices.ContainsFunc(classes(), func(c class) bool { return c.covers(g, job, pods) }):
		sum.stricter++
	default:
		t.Errorf("a false no: all pods of %s are placed, but it was held: %s: %s", job.Name, w.Reason.Code, w.Reason.Message)
	}
	must(t, g.suspend(ctx, job.Name, true))
	must(t, until(ctx, "the pods of "+job.Name+" are gone", func() (bool, error) {
		pods, err := g.pods(ctx, job.Name)
		return len(pods) == 0, err
	}))
	must(t, until(ctx, "the devices of "+job.Name+" are free again", func() (bool, error) {
		now, err := g.allocated(ctx)
		return now == before, err
	}))
}
