package reason_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/reason"
)

func TestLinesAreParted(t *testing.T) {
	for _, c := range []struct {
		name, line string
		code       reason.Code
		rest       string
	}{
		{"a code and a sentence", "WaitingForQuota: 4 of 4 used", reason.WaitingForQuota, "4 of 4 used"},
		{"a sentence with colons keeps them", "BadRequest: cpu: -1 is negative", reason.BadRequest, "cpu: -1 is negative"},
		{"a code alone", "BehindOthers:", reason.BehindOthers, ""},
		{"a text without a code is all sentence", " wait a little: it comes ", "", "wait a little: it comes"},
		{"an empty code is none", ": nothing", "", ": nothing"},
		{"a code ends in a colon", "Fragmented", "", "Fragmented"},
		{"no message is nothing", "", "", ""},
		{
			"what was written comes back",
			reason.Reason{Code: reason.HeldByPolicy, Message: "night only", RuleAt: "hold.rego:7"}.Line(),
			reason.HeldByPolicy, "night only (hold.rego:7)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if code, rest := reason.SplitLine(c.line); code != c.code || rest != c.rest {
				t.Errorf("%q is %q and %q, want %q and %q", c.line, code, rest, c.code, c.rest)
			}
		})
	}
}
