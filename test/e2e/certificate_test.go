//go:build plane

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdshort/holdshort/policies"
)

// TestCertificatesAreRenewedWithoutARestart lets authority and certificate of
// the webhook expire several times while Jobs are created: only the webhook
// stamps an arrival at creation, so each stamp is a call that went through.
func TestCertificatesAreRenewedWithoutARestart(t *testing.T) {
	ctx, s := scene(t, "guard", guardPolicy)
	s.Manager.Stop()
	s.Manager.Args = []string{"--cert-duration", "6s", "--ca-duration", "30s"}
	must(t, s.Manager.Start(ctx))
	defer func() {
		s.Manager.Stop()
		s.Manager.Args = nil
		must(t, s.Manager.Start(t.Context()))
	}()
	pid := s.Manager.Pid()
	calls, missed := 0, 0
	for end := time.Now().Add(45 * time.Second); time.Now().Before(end); calls++ {
		name := fmt.Sprintf("j%d", calls)
		_, err := s.Apply(ctx, job{name: name, queue: "other", pods: 100, gpus: 1}.yaml()) // never fits
		must(t, err)
		found, err := s.Job(ctx, name)
		must(t, err)
		if found.Annotations[policies.AnnotationArrival] == "" {
			missed++
			t.Logf("%s at %v: no stamp", name, time.Now())
		}
		time.Sleep(500 * time.Millisecond)
	}
	if s.Manager.Pid() != pid {
		t.Error("the manager was restarted")
	}
	if missed > 0 {
		t.Errorf("%d of %d calls did not reach the webhook", missed, calls)
	}
}
