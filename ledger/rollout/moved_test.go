package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies"
)

// minutes is a catalog with as many GPUs as the minute has, and none in the
// seventh.
const minutes = `package holdshort.policy

catalog.queues := {"research": {"namespaces": {"all": true}, "flavors": ["gpu"], "quota": {"gpu": {"nvidia.com/gpu": minute}}}}

minute := m if {
	[_, m, _] := time.clock(input.now_ns)
	m != 7
}
`

func TestAShadowWhoseCatalogFailsSaysSoUntilItIsWellAgain(t *testing.T) {
	s, beside := withShadow(t)
	beside.files = map[string][]byte{"data.yaml": []byte(goodData), "minutes.rego": []byte(minutes)}
	s.Now = func() time.Time { return time.Date(2026, 3, 1, 12, 3, 0, 0, time.UTC) }
	s.step()
	for _, c := range []struct {
		minute int
		want   string
		quota  int64
	}{{5, "", 5}, {7, "its catalog could not be evaluated again, so its last good one stands: ", 5}, {8, "", 8}} {
		s.Shadow.Refresh(s.Shadow.Revision(), time.Date(2026, 3, 1, 12, 1, 0, 0, time.UTC), nil) // overtaken
		s.Shadow.Refresh(s.Shadow.Revision(), time.Date(2026, 3, 1, 12, c.minute, 0, 0, time.UTC), policies.CatalogCapacity{})
		s.Shadow.evaluate(t.Context(), <-s.Shadow.moved)
		s.tellShadow()
		s.settled(t.Context())
		reason := statusOf(t, s.c).Shadow.Reason
		if !strings.HasPrefix(reason, c.want) || c.want == "" && reason != "" {
			t.Errorf("in minute %d the reason is %q, want %q", c.minute, reason, c.want)
		}
		if got := s.Shadow.Revision().Catalog().Queues["research"].Quota["gpu"]["nvidia.com/gpu"].Nominal; got != c.quota {
			t.Errorf("in minute %d the shadow's quota is %d, want %d", c.minute, got, c.quota)
		}
	}
}

func TestAShadowIsTriedAtTheMomentThatItIs(t *testing.T) {
	for minute, want := range map[int]string{3: v1alpha1.VerdictShadow, 7: v1alpha1.VerdictRejected} {
		s, beside := withShadow(t)
		beside.files = map[string][]byte{"data.yaml": []byte(goodData), "minutes.rego": []byte(minutes)}
		s.Now = func() time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }
		s.step()
		if got := statusOf(t, s.c).Shadow; got.Verdict != want || (s.Shadow.Revision() != nil) != (want == v1alpha1.VerdictShadow) {
			t.Errorf("in minute %d it is %+v, want %s", minute, got, want)
		}
		s.Shadow.Refresh(s.Shadow.Revision(), s.Now(), nil)
		s.Shadow.evaluate(t.Context(), <-s.Shadow.moved) // of none, it does nothing
	}
}

func TestWhatMovedForAnEarlierShadowIsNotTheLaterOnes(t *testing.T) {
	s, beside := withShadow(t)
	beside.files = map[string][]byte{"data.yaml": []byte(goodData), "minutes.rego": []byte(minutes)}
	s.step()
	earlier := s.Shadow.Revision()
	beside.files = map[string][]byte{"data.yaml": []byte(goodData), "minutes.rego": []byte(minutes + "\n# edited\n")}
	s.step()
	before := earlier.Catalog()
	s.Shadow.Refresh(earlier, time.Date(2026, 3, 1, 12, 5, 0, 0, time.UTC), nil)
	s.Shadow.evaluate(t.Context(), <-s.Shadow.moved)
	if earlier.Catalog() != before || s.Shadow.Revision() == earlier {
		t.Error("a shadow that is not asked any more was evaluated")
	}
}
