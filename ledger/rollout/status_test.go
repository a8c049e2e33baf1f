package rollout

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

// denyOf is a rule that reads one label.
func denyOf(label string) string {
	return "package holdshort.policy\n\ndeny contains {\"code\": \"a.example/No\", \"message\": \"no\"} if input.workload.labels." + label + " == \"x\"\n"
}

// readByDeny is what the status says that the rules of deny read.
func readByDeny(revision *v1alpha1.Revision) []string {
	for _, reads := range revision.Reads {
		if reads.Entrypoint == "deny" {
			return reads.Input
		}
	}
	return nil
}

func TestTheStatusSaysWhatEachRevisionReads(t *testing.T) {
	s, beside := withShadow(t)
	s.quota(4, "no.rego", denyOf("active"))
	beside.files = map[string][]byte{"data.yaml": []byte(goodData), "no.rego": []byte(denyOf("shadow"))}
	s.Gates.Approval = ApprovalAlways
	s.quota(4, "no.rego", denyOf("candidate"))
	status := statusOf(t, s.c)
	for name, revision := range map[string]*v1alpha1.Revision{"active": status.Active, "candidate": status.Candidate, "shadow": &status.Shadow.Revision} {
		if diff := cmp.Diff([]string{"input.workload.labels." + name}, readByDeny(revision)); diff != "" {
			t.Errorf("deny of the %s reads (-want +got)\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]v1alpha1.PolicyReads{{Entrypoint: "hold", Input: []string{`input.workload.labels["holdshort.dev/priority"]`}, Config: []string{"data.holdshort.config.classes"}}}, status.Active.Reads[3:4]); diff != "" {
		t.Errorf("the default hold reads (-want +got)\n%s", diff)
	}
	s.restart()
	if got := readByDeny(statusOf(t, s.c).Active); len(got) != 1 {
		t.Errorf("after a restart deny reads %v", got)
	}
}

func TestAPolicyThatReadsVeryMuchDoesNotFillTheStatus(t *testing.T) {
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf("input.workload.labels.x%02d", i))
	}
	got := fewPaths(many)
	if len(got) != readsMax || got[readsMax-1] != "and 11 more" || got[readsMax-2] != many[48] {
		t.Errorf("%d paths, the last ones %q", len(got), got[readsMax-2:])
	}
}
