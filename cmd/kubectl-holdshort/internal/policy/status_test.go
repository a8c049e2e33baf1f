package policy

import (
	"flag"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/test/golden"
)

var update = flag.Bool("update", false, "write what is expected anew")

// TestTheStatusIsForPeople has one of everything that can be said.
func TestTheStatusIsForPeople(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	since := func(minutes int) metav1.Time { return metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute)) }
	active := &v1alpha1.Revision{Digest: strings.Repeat("a1", 32), Source: "configmap holdshort-policy", Time: since(90), Verdict: v1alpha1.VerdictActive,
		Tests:    &v1alpha1.PolicyTests{Passed: 3},
		Warnings: []v1alpha1.PolicyProblem{{At: "data.yaml:7", Message: "odd", Try: "even"}},
		Reads: []v1alpha1.PolicyReads{{Entrypoint: "classify", Input: []string{"input.workload.queue"}, Config: []string{"data.holdshort.config.classes"}},
			{Entrypoint: "deny", Input: []string{"input.workload.total"}}}}
	awaits := &v1alpha1.Revision{Digest: strings.Repeat("b2", 32), Source: "configmap holdshort-policy", Time: since(3), Verdict: v1alpha1.VerdictAwaitingApproval,
		Reason: "it would harm 50 % of the Jobs that there are, more than 20 %",
		Preflight: &v1alpha1.Preflight{Jobs: 2, HarmedPercent: 50, Changes: []v1alpha1.PreflightChange{
			{Kind: "Denied", Count: 1, Examples: []string{"lab/one: team.example/No"}}}}}
	away := &v1alpha1.Revision{Source: "https://policy.example/bundle.tar.gz", Time: since(12), Verdict: v1alpha1.VerdictUnavailable,
		Reason: "revision " + active.Digest[:12] + " stays in force",
		Errors: []v1alpha1.PolicyProblem{{At: "source", Message: "fetching https://policy.example/bundle.tar.gz: the server answers 404 Not Found. Try: check the path in the URL"}}}
	shadow := &v1alpha1.ShadowStatus{Revision: v1alpha1.Revision{Digest: strings.Repeat("c3", 32), Source: "configmap holdshort-policy-shadow", Time: since(1), Verdict: v1alpha1.VerdictShadow},
		Compared: 9, Differences: []v1alpha1.DifferenceCount{{Kind: "deny", Count: 6, Jobs: 2}},
		Latest: []v1alpha1.Difference{{Kind: "deny", Job: "lab/one", Active: "nothing", Shadow: "team.example/No: no"}}}
	previous := &v1alpha1.Revision{Digest: strings.Repeat("d4", 32), Source: "configmap holdshort-policy", Time: since(900), Verdict: v1alpha1.VerdictActive, Reads: active.Reads}
	asked := []metav1.Condition{{Type: followed, Message: "revision " + active.Digest[:12] + " is pinned"}}

	var out strings.Builder
	for _, status := range []v1alpha1.PolicyRolloutStatus{
		{},
		{Active: active, Candidate: awaits, Previous: previous, Shadow: shadow},
		{Active: active, Candidate: away, Conditions: asked},
	} {
		printer{&out, now}.rollout(&v1alpha1.PolicyRollout{Status: status})
		out.WriteString("---\n")
	}
	golden.Compare(t, *update, "status.golden", out.String())
}
