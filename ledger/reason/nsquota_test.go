package reason_test

import (
	"strings"
	"testing"

	"github.com/holdshort/holdshort/ledger/reason"
)

// What is told of a ResourceQuota is told anew by all but how much is used, and how much is
// used now another Job of the namespace may know.
func TestUseOfANamespaceQuotaMoves(t *testing.T) {
	limit := reason.NamespaceLimit{Name: "gpus", Row: "requests.nvidia.com/gpu", Resource: "nvidia.com/gpu", Asked: 4, Used: 6, Hard: 8}
	drawn, later, other, raised, uncounted := limit, limit, limit, limit, reason.NamespaceQuotaUncounted(limit).Message
	drawn.Drawn = "nvidia.com/gpu"
	later.Asked, later.Used = 1, 8
	other.Row = "pods"
	raised.Hard = 9
	text := func(l reason.NamespaceLimit) string { return reason.NoNamespaceQuota(l).Message }
	now := later
	now.Asked = limit.Asked
	for name, c := range map[string]struct{ told, later, want string }{
		"more is used":       {text(limit), text(later), text(now)},
		"with a note":        {text(drawn), text(later), text(now) + strings.TrimPrefix(text(drawn), text(limit))},
		"the same is used":   {text(limit), text(limit), text(limit)},
		"it was raised":      {text(limit), text(raised), text(raised)},
		"of another row":     {text(limit), text(other), ""},
		"is not counted yet": {text(limit), uncounted, ""},
		"was not counted":    {uncounted, text(limit), ""},
		"of something else":  {"4 of 4 used", text(limit), ""},
	} {
		if got := reason.UsedNow(c.told, c.later); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	now.Asked = limit.Asked
	if a, b := reason.Steady(text(limit)), reason.Steady(text(now)); a != b {
		t.Errorf("%q is told anew after %q", b, a)
	}
	for name, next := range map[string]string{"raised": text(raised), "of another row": text(other), "noted": text(drawn), "not counted": uncounted} {
		if reason.Steady(text(limit)) == reason.Steady(next) {
			t.Errorf("%s: not told anew", name)
		}
	}
}
