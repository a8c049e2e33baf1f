package rollout

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdshort/holdshort/policies/engine"
)

// decides has the policy in force classify and deny each Job, as loop and webhook
// do, and tells the shadow: how long that alone took, and how many it was told.
func (s *stage) decides(ctx context.Context, active *engine.Revision, jobs []Live) (hearing time.Duration, told int64) {
	for _, live := range jobs {
		verdict, err := active.Classify(ctx, live.Input)
		denied, failed := active.Deny(ctx, live.Input)
		if err != nil || failed != nil || len(denied) > 0 || verdict.Queue != "research" {
			s.t.Errorf("%s: %+v, %v, denied %v, %v", live.Name, verdict, err, denied, failed)
		}
		began := time.Now()
		s.Shadow.Hear(Asked{Revision: active, Entrypoint: "classify", Input: live.Input, Verdict: verdict})
		s.Shadow.Hear(Asked{Revision: active, Entrypoint: "deny", Input: live.Input})
		hearing += time.Since(began)
		told += 2
	}
	return hearing, told
}

// A shadow takes a quarter of a second for each decision of 2,000 Jobs that come at
// once: loop and webhook decide all of them meanwhile, and each decision is compared,
// still to be, or counted as dropped.
func TestTwoThousandJobsUnderASlowShadowKeepNobodyWaiting(t *testing.T) {
	s, beside := withShadow(t)
	active := s.Engine.Active()
	beside.files = map[string][]byte{"data.yaml": []byte(goodData),
		"slow.rego": []byte("package holdshort.policy\n\ndeny contains {\"code\": \"a.example/Slow\", \"message\": \"never\"} if {\n" +
			"\tinput.workload.name != \"\"\n\tcount(numbers.range(1, 30000000)) < 0\n}\n")}
	s.step()
	const each = 2000
	var ours, theirs []Live
	for i := range each {
		ours = append(ours, waiting(t, active, fmt.Sprint("loop-", i), "research", ""))
		theirs = append(theirs, waiting(t, active, fmt.Sprint("webhook-", i), "research", ""))
	}
	ctx, stop := context.WithCancel(t.Context())
	var shadow, deciders sync.WaitGroup
	shadow.Go(func() { s.Shadow.work(ctx) })
	var hearing [2]time.Duration
	var told [2]int64
	for i, jobs := range [][]Live{ours, theirs} {
		deciders.Go(func() { hearing[i], told[i] = s.decides(t.Context(), active, jobs) })
	}
	deciders.Wait()
	stop()
	shadow.Wait()
	for i, took := range hearing {
		if told[i] != 2*each || took > 2*time.Second {
			t.Errorf("%d decisions were told in %s", told[i], took)
		}
	}
	s.Shadow.tally.mu.Lock()
	compared, dropped := s.Shadow.tally.count, s.Shadow.tally.lost
	s.Shadow.tally.mu.Unlock()
	// As it stops, a few are taken and not compared any more.
	if missing := told[0] + told[1] - compared - dropped - int64(len(s.Shadow.queue)); missing < 0 || missing > 100 {
		t.Errorf("of %d decisions %d were compared, %d dropped, and %d wait: %d are missing", told[0]+told[1], compared, dropped, len(s.Shadow.queue), missing)
	}
	if dropped == 0 {
		t.Error("the shadow kept up, so it was not slow")
	}
}
