package ledger

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"

	"github.com/holdshort/holdshort/ledger/resource"
)

// TestABookThatIsOffHeals: 4 of 8 GPUs look taken that nobody holds. The audit finds
// them, says so once, and who waited for them starts.
func TestABookThatIsOffHeals(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": strings.Replace(loopPolicy, "gpu: 4", "gpu: 8", 1)})
	registry := prometheus.NewRegistry()
	counts, err := NewAuditMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	b.Audits = counts
	told := events.NewFakeRecorder(10)
	b.Events = told
	b.step()
	nodes := b.book.Nodes()
	nodes.Hold("n1", nodes.Vector(resource.List{"nvidia.com/gpu": 4}))
	b.create("waits", 8)
	b.round(t.Context())
	b.wantAdmitted(map[string]bool{"waits": false})

	b.audit()
	b.audit() // one at a time
	b.audits()
	b.wantAdmitted(map[string]bool{"waits": true})
	b.audit()
	b.audits()
	if diff := cmp.Diff(map[string]float64{auditEqual: 1, auditOff: 1}, gathered(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	close(told.Events)
	said := 0
	for event := range told.Events {
		if strings.Contains(event, "BookRebuilt") {
			said++
			if !strings.Contains(event, "held n1 nvidia.com/gpu: 4, added up 0") {
				t.Errorf("the event does not say what differed: %s", event)
			}
		}
	}
	if said != 1 {
		t.Errorf("%d events say that it was off, want 1", said)
	}
}

// audits has the loop hear of the audit that is under way.
func (b *bench) audits() {
	b.t.Helper()
	for b.auditing {
		<-b.inbox.wake
		b.round(b.t.Context())
	}
	b.step()
}
