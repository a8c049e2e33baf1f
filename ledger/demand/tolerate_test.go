package demand_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

func TestTolerates(t *testing.T) {
	taint := policies.Taint{Key: "gpu", Value: "h100", Effect: "NoSchedule"}
	cases := []struct {
		name       string
		toleration policies.Toleration
		want       bool
	}{
		{"everything by Exists without a key", policies.Toleration{Operator: "Exists"}, true},
		{"the key by Exists", policies.Toleration{Key: "gpu", Operator: "Exists"}, true},
		{"the key and its value", policies.Toleration{Key: "gpu", Operator: "Equal", Value: "h100"}, true},
		{"an empty operator is Equal", policies.Toleration{Key: "gpu", Value: "h100"}, true},
		{"another value", policies.Toleration{Key: "gpu", Value: "a100"}, false},
		{"another key", policies.Toleration{Key: "tpu", Operator: "Exists"}, false},
		{"the effect", policies.Toleration{Key: "gpu", Operator: "Exists", Effect: "NoSchedule"}, true},
		{"another effect", policies.Toleration{Key: "gpu", Operator: "Exists", Effect: "NoExecute"}, false},
		{"an operator that servers have off", policies.Toleration{Key: "gpu", Operator: "Gt", Value: "1"}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := demand.Tolerates([]policies.Toleration{{Key: "other"}, c.toleration}, taint); got != c.want {
				t.Errorf("Tolerates = %t, want %t", got, c.want)
			}
		})
	}
	if demand.Tolerates(nil, taint) {
		t.Error("no toleration tolerates nothing")
	}
}
