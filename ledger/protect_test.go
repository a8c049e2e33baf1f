package ledger

import (
	"strings"
	"testing"

	"github.com/holdshort/holdshort/policies"
)

// A rule says who of those that run makes room, and an error keeps everybody.
func TestARuleKeepsAJobFromMakingRoomForAnother(t *testing.T) {
	for _, c := range []struct{ name, rule, goes string }{
		{"without one, who started last goes", "", "b-new"},
		{"a rule keeps that one, so the other goes", `protect contains {"code": "ops.example/Keep", "message": "nearly done"} if {
	input.victim.workload.name == "b-new"
	input.incoming.verdict.priority == 5
	input.victim.flavors == ["gpu"]
	input.victim.admitted_ns <= input.now_ns
}`, "a-old"},
		{"a rule that fails keeps everybody", `protect contains {"code": "ops.example/Bad", "message": "x"} if to_number(input.victim.workload.name) > 1`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := strings.Replace(loopPolicy, "flavors: [gpu]", "preemption: {withinQueue: LowerPriority}, flavors: [gpu]", 1)
			b := newBench(t, map[string]string{"data.yaml": data, "rules.rego": "package holdshort.policy\n\n" +
				"classify.priority := 5 if startswith(input.workload.name, \"urgent\")\nclassify.priority := 0 if not startswith(input.workload.name, \"urgent\")\n\n" + c.rule + "\n"})
			b.create("a-old", 2)
			b.step()
			b.now = b.now.Add(1e9)
			b.create("b-new", 2)
			b.step()
			b.wantAdmitted(map[string]bool{"a-old": true, "b-new": true})
			b.begin("a-old")
			b.begin("b-new")
			b.now = b.now.Add(1e9)
			b.create("urgent", 2)
			b.step()
			for _, name := range []string{"a-old", "b-new"} {
				job, _ := b.get(name)
				if goes := *job.Spec.Suspend; goes != (name == c.goes) {
					t.Errorf("%s suspended: %t", name, goes)
				}
				if record := job.Annotations[policies.AnnotationPreempted]; (record != "") != (name == c.goes) {
					t.Errorf("record on %s: %q", name, record)
				}
			}
			b.wantAdmitted(map[string]bool{"urgent": false})
		})
	}
}
