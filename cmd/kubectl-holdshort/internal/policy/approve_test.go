package policy

import (
	"strings"
	"testing"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

func TestADigestMayBeShortenedAsLongAsItNamesOneRevision(t *testing.T) {
	candidate, twin := strings.Repeat("ab", 32), strings.Repeat("ab", 8)+strings.Repeat("0", 48)
	for name, c := range map[string]struct{ given, other, want, says string }{
		"the whole digest":                       {candidate, "", candidate, ""},
		"its first twelve letters":               {candidate[:12], "", candidate, ""},
		"eleven letters":                         {candidate[:11], "", "", "too little of a digest"},
		"nothing":                                {"", "", "", "too little of a digest"},
		"another digest":                         {strings.Repeat("cd", 32), "", "", "the candidate is " + candidate + ", not cdcd"},
		"more than the digest":                   {candidate + "0", "", "", "the candidate is " + candidate},
		"the beginning of another digest":        {strings.Repeat("cd", 6), "", "", "the candidate is abababababab, not cdcdcdcdcdcd"},
		"letters that two revisions begin with":  {candidate[:12], twin, "", "the beginning of two revisions"},
		"letters that only one of two goes with": {candidate[:17], twin, candidate, ""},
		"what only another revision begins with": {twin[:17], twin, "", "the candidate is"},
	} {
		t.Run(name, func(t *testing.T) {
			status := &v1alpha1.PolicyRolloutStatus{Candidate: &v1alpha1.Revision{Digest: candidate}}
			for i, place := range []func(*v1alpha1.Revision){
				func(r *v1alpha1.Revision) { status.Active = r }, func(r *v1alpha1.Revision) { status.Previous = r },
				func(r *v1alpha1.Revision) { status.Shadow = &v1alpha1.ShadowStatus{Revision: *r} },
			} {
				status.Active, status.Previous, status.Shadow = nil, nil, nil
				place(&v1alpha1.Revision{Digest: c.other})
				got, err := meant(status, c.given, candidateOf(status), "candidate")
				if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("place %d: got %q and %v; want %q and %q", i, got, err, c.want, c.says)
				}
			}
		})
	}
	if _, err := meant(&v1alpha1.PolicyRolloutStatus{}, candidate, "", "shadow"); err == nil || !strings.Contains(err.Error(), "there is no shadow") {
		t.Errorf("without a shadow: %v", err)
	}
}

func TestWhereNothingAwaitsApprovalThatIsSaid(t *testing.T) {
	if _, err := meant(&v1alpha1.PolicyRolloutStatus{}, "zzz", "", "candidate"); err == nil || !strings.Contains(err.Error(), "nothing awaits approval") {
		t.Errorf("got %v", err)
	}
}

func TestWhoTakesAPinOutIsToldWhatBecomesOfTheSource(t *testing.T) {
	digest := strings.Repeat("ab", 32)
	for name, c := range map[string]struct {
		candidate *v1alpha1.Revision
		want      string
	}{
		"it is in force": {nil, "in force"},
		"it needs approval": {&v1alpha1.Revision{Digest: digest, Verdict: v1alpha1.VerdictAwaitingApproval, Reason: "it would harm 40 % of the Jobs"},
			"AwaitingApproval: it would harm 40 % of the Jobs. Try: kubectl holdshort policy approve abababababab"},
		"it is refused":      {&v1alpha1.Revision{Digest: digest, Verdict: v1alpha1.VerdictRejected}, "Rejected"},
		"its server is away": {&v1alpha1.Revision{Verdict: v1alpha1.VerdictUnavailable, Reason: "since 10:00"}, "Unavailable: since 10:00"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, want := afterUndo(c.candidate), "nothing is asked for any more: the source counts, and what it says is "+c.want; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
