package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/policies"
)

func TestAHoldRuleIsAskedForAndItsNoIsNotAskedAnewEachRound(t *testing.T) {
	b := newBench(t, map[string]string{
		"data.yaml": loopPolicy,
		"freeze.rego": `package holdshort.policy

hold contains {"code": "ops.example/Freeze", "message": "not before noon", "until_ns": 1800000060000000000} if {
	input.workload.name == "frozen"
	input.now_ns < 1800000060000000000
}
`,
	})
	b.create("frozen", 3)
	b.create("free", 1)
	b.step()
	b.wantAdmitted(map[string]bool{"frozen": false, "free": true})
	b.now = b.now.Add(explainAfter)
	b.step()
	job, _ := b.get("frozen")
	if got := job.Annotations[policies.AnnotationMessage]; got == "" || job.Labels[policies.LabelState] != policies.StateHeld {
		t.Errorf("told %q, state %q; want HeldByPolicy and held", got, job.Labels[policies.LabelState])
	}
	b.now = time.Unix(1_800_000_060, 0)
	b.step()
	b.wantAdmitted(map[string]bool{"frozen": true})
}

func TestAPolicyThatFailsForOneJobHoldsThatOneOnly(t *testing.T) {
	b := newBench(t, map[string]string{
		"data.yaml": loopPolicy,
		"broken.rego": `package holdshort.policy

deny contains {"code": "team.example/Bad", "message": "x"} if to_number(input.workload.labels.size) > 1
`,
	})
	b.create("fine", 1)
	b.create("broken", 1)
	job, _ := b.get("broken")
	job.Labels["size"] = "many"
	if err := b.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	b.watch("broken")
	b.step()
	b.wantAdmitted(map[string]bool{"fine": true, "broken": false})
	b.now = b.now.Add(explainAfter)
	b.step()
	job, _ = b.get("broken")
	message := job.Annotations[policies.AnnotationMessage]
	for _, part := range []string{"PolicyError", "broken.rego:3"} {
		if !strings.Contains(message, part) {
			t.Errorf("the message does not say %s: %q", part, message)
		}
	}
}

func TestASlowHoldRuleHoldsTheJobsThatItIsAboutAndNobodyElseUp(t *testing.T) {
	b := newBench(t, map[string]string{
		"data.yaml": strings.Replace(loopPolicy, ": 4}", ": 8}", 1),
		"slow.rego": `package holdshort.policy

hold contains {"code": "ops.example/Slow", "message": "never said"} if {
	startswith(input.workload.name, "slow")
	count(numbers.range(1, 30000000)) < 0
}
`,
	})
	b.Now = time.Now // the budget is of real time
	b.since = time.Now()
	for i := range 5 {
		b.create(fmt.Sprintf("slow-%d", i), 1)
	}
	b.create("z-fast", 1)
	started := time.Now()
	for !b.admitted("z-fast") && time.Since(started) < time.Minute {
		b.step()
	}
	b.wantAdmitted(map[string]bool{"z-fast": true, "slow-0": false})
	rounds := 0
	for ; rounds < 3; rounds++ {
		b.step()
	}
	if b.admitted("slow-1") {
		t.Error("a Job is admitted whose rule never answered")
	}
}

func TestWhatHoldSaysOfAJobAloneIsKnownBeforeItsTurn(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		early      bool
	}{
		{"a rule that reads the Job is asked when the Job comes", `input.workload.name == "never"`, true},
		{"one that reads the clock, when it could start", `input.workload.name == "never"; input.now_ns > 0`, false},
		{"one that reads what is used, too", `input.workload.name == "never"; input.usage.queue`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"data.yaml": loopPolicy, "hold.rego": `package holdshort.policy

import data.holdshort.lib

hold contains lib.reason("team.example/Never", "never") if { ` + c.rule + ` }
`})
			b.create("train", 1)
			b.create("never", 1)
			b.observe(b.inbox.take())
			b.judgeChanged(t.Context(), b.Policy(), b.now)
			_, known := b.standing.holds["uid-train"]
			if known != c.early {
				t.Errorf("known before its turn: %v", known)
			}
			if _, known := b.standing.holds["uid-never"]; known {
				t.Error("a no is known before its turn: whoever has no room is told so first")
			}
			b.step()
			b.wantAdmitted(map[string]bool{"train": true, "never": false})
		})
	}
}

func TestAYesOfHoldEndsWithWhatItWasSaidOf(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy, "hold.rego": `package holdshort.policy

import data.holdshort.lib

hold contains lib.reason("team.example/Marked", "marked") if input.workload.labels.marked
`})
	b.create("first", 4)
	b.create("second", 4)
	b.step()
	b.wantAdmitted(map[string]bool{"first": true, "second": false})
	marked, _ := b.get("second")
	marked.Labels["marked"] = "yes"
	if err := b.store.Update(t.Context(), marked); err != nil {
		t.Fatal(err)
	}
	b.watch("second")
	first, _ := b.get("first")
	if err := b.store.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	b.watch("first")
	b.step()
	b.wantAdmitted(map[string]bool{"second": false})
}
