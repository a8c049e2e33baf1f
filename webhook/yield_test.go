package webhook_test

import (
	"context"
	"testing"

	"github.com/holdshort/holdshort/webhook"
)

func TestOnlyCreationsOfJobsInQueuesYield(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		job, old string
		dryRun   *bool
		user     string
		yields   int
	}{
		"a creation":                      {job: queuedJob, yields: 1},
		"a dry run":                       {job: queuedJob, dryRun: &yes},
		"a creation by the ledger":        {job: queuedJob, user: ledgerUser},
		"a Job in no queue":               {job: `{metadata: {name: a}, spec: {template: {}}}`},
		"an update":                       {job: queuedJob, old: queuedJob},
		"an update that enters the queue": {job: queuedJob, old: `{metadata: {name: a}, spec: {template: {}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			yields := 0
			options := options(&fakePolicy{})
			options.Yield = func(context.Context) { yields++ }
			req := request(t, c.job, c.old)
			req.DryRun = c.dryRun
			if c.user != "" {
				req.UserInfo.Username = c.user
			}
			webhook.NewJobs(options).Handle(t.Context(), req)
			if yields != c.yields {
				t.Errorf("it yields %d times, want %d", yields, c.yields)
			}
		})
	}
}
