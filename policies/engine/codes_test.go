package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAReasonCodeWithoutANamespaceIsWarnedOf(t *testing.T) {
	const head = "package holdshort.policy\n\nimport data.holdshort.lib\n\n"
	const try = ". Try: \"team.example/Freeze\", with a namespace of yours"
	for name, c := range map[string]struct {
		rego string
		want []string
	}{
		"a namespace": {head + "deny contains lib.reason(\"team.example/Freeze\", \"x\") if input.workload.name == \"a\"\n", nil},
		"none, in a call": {head + "hold contains lib.reason_until(\"Freeze\", message, 4) if {\n\tmessage := input.workload.name\n}\n",
			[]string{"a.rego:5: the reason code \"Freeze\" does not say whose it is" + try}},
		"none, in an object over several rows": {head + "warn contains {\n\t\"code\": \"Freeze\",\n\t\"message\": \"x\",\n} if lib.total(\"cpu\") > 4\n",
			[]string{"a.rego:6: the reason code \"Freeze\" does not say whose it is" + try}},
		"half of one": {head + "protect contains lib.reason(\"/Freeze\", \"x\") if input.now_ns > 4\n",
			[]string{"a.rego:5: the reason code \"/Freeze\" does not say whose it is" + try}},
		"none, in a comprehension": {head + "deny contains r if {\n\tsome r in {lib.reason(\"Freeze\", n) | some n in [\"a\"]; n == input.workload.name}\n}\n",
			[]string{"a.rego:6: the reason code \"Freeze\" does not say whose it is" + try}},
		"a code that is computed cannot be known": {head + "deny contains lib.reason(concat(\"\", [\"Fre\", \"eze\"]), \"x\") if input.workload.name == \"a\"\n", nil},
		"an object that is no reason":             {head + "deny contains lib.reason(\"a.example/B\", o.message) if o.code == input.workload.name\n\no := {\"code\": \"Freeze\", \"message\": \"x\"}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, w := range mustCompile(t, starterWith(map[string]string{"a.rego": c.rego})).Warnings() {
				if w.Code == CodeReason {
					got = append(got, w.String())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("warnings (-want +got)\n%s", diff)
			}
		})
	}
}
