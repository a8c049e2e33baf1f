package reason_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/reason"
)

func TestDiffer(t *testing.T) {
	const try = "; its pods are counted by that. Try: find what changes pods (a webhook, a policy), or ask for it in the Job"
	for _, c := range []struct {
		pod, booked []reason.Part
		want        string
	}{
		{[]reason.Part{{Resource: "nvidia.com/gpu", Amount: 5}}, []reason.Part{{Resource: "nvidia.com/gpu", Amount: 4}},
			"a pod asks for 5 nvidia.com/gpu, 4 were booked"},
		{[]reason.Part{{Resource: "cpu", Amount: 1100}}, []reason.Part{{Resource: "cpu", Amount: 1000}},
			"a pod asks for 1100m cpu, 1 was booked"},
		{[]reason.Part{{Resource: "cpu", Amount: 1500}, {Resource: "memory", Amount: 1 << 30}}, []reason.Part{{Resource: "cpu", Amount: 1000}, {Resource: "memory"}},
			"a pod asks for 1500m cpu and 1Gi memory, 1 cpu and 0 memory were booked"},
	} {
		if got := reason.Differ(c.pod, c.booked); got != c.want+try {
			t.Errorf("got  %q\nwant %q", got, c.want+try)
		}
	}
}
