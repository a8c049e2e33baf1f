package intake_test

import (
	"slices"
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/intake"
)

func TestGlobalDefault(t *testing.T) {
	class := func(name string, value int32, global bool) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: global}
	}
	for _, c := range []struct {
		name    string
		classes []*schedulingv1.PriorityClass
		want    string
	}{
		{"no class is the default", []*schedulingv1.PriorityClass{class("gold", 1, false)}, ""},
		{"the one that says so is", []*schedulingv1.PriorityClass{class("gold", 1, false), class("plain", 5, true)}, "plain"},
		{"of several the lowest is", []*schedulingv1.PriorityClass{class("a", 5, true), class("b", -1, true)}, "b"},
		{"of equals the first by name is", []*schedulingv1.PriorityClass{class("b", 5, true), class("a", 5, true)}, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if found := intake.GlobalDefault(slices.Values(c.classes)); found != nil {
				got = found.Name
			}
			if got != c.want {
				t.Errorf("the default is %q, want %q", got, c.want)
			}
		})
	}
}
