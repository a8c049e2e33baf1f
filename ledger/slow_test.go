package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/policies/engine"
)

// holdsNever has to be asked about every Job all the same.
const holdsNever = `package holdshort.policy

import data.holdshort.lib

hold contains lib.reason("team.example/Never", "never") if input.workload.name == "never"
`

// asking puts a policy into force whose deadline is short, and counts how often
// mutate is asked about each Job; then is called each time.
func (b *bench) asking(rego string, then func(job string)) map[string]int {
	b.t.Helper()
	asked := map[string]int{}
	policy := engine.New(engine.Options{Deadline: 20 * time.Millisecond, Observe: func(d engine.Decision) {
		if d.Entrypoint == "mutate" {
			asked[d.Workload.Name]++
			then(d.Workload.Name)
		}
	}})
	_, err := policy.Activate(b.t.Context(), engine.Bundle{Source: "test", Files: map[string][]byte{
		"data.yaml": []byte(loopPolicy), "mutate.rego": []byte(mutatePackage + rego), "hold.rego": []byte(holdsNever)}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.Policy = policy.Active
	return asked
}

func TestAMutateThatFailsIsNotAskedAgainAboutTheSameJob(t *testing.T) {
	for _, c := range []struct {
		name, rego string
		later      int // how often it was asked when a while has passed
	}{
		{"an error stays one", "labels[\"user\"] := concat(\" \", [\"not\", input.workload.name])\n", 1},
		{"what took too long is asked again after a pause",
			"labels[\"user\"] := \"x\" if count([i | some i in numbers.range(1, 2000000); i > 1; input.workload.name]) > 0\n", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"data.yaml": loopPolicy})
			asked := b.asking(c.rego, func(string) {})
			b.create("train", 1)
			if message := b.told("train"); !strings.HasPrefix(message, "PolicyError") {
				t.Fatalf("told %q", message)
			}
			b.watch("train")
			b.step()
			if asked["train"] != 1 {
				t.Errorf("asked %d times about one Job that stays as it is", asked["train"])
			}
			b.now = b.now.Add(failedStands)
			b.step()
			if asked["train"] != c.later {
				t.Errorf("asked %d times after a while, want %d", asked["train"], c.later)
			}
			b.wantAdmitted(map[string]bool{"train": false})
		})
	}
}

func TestWhoIsSlowToJudgeComesAfterTheOthers(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	asked := b.asking("labels[\"name\"] := input.workload.name\n", func(job string) {
		if strings.HasPrefix(job, "slow") {
			b.now = b.now.Add(judgeBudget)
		}
	})
	const many = 12
	for i := range many {
		b.create(fmt.Sprintf("slow-%d", i), 8)
	}
	for range many {
		b.step()
	}
	if len(asked) != many {
		t.Fatalf("asked about %d of %d", len(asked), many)
	}
	for _, tracked := range b.jobs { // as if each had been edited
		tracked.mutated.from = ""
		b.stale[tracked.raw.UID] = tracked
	}
	b.create("fast", 1)
	b.step()
	if asked["fast"] != 1 {
		t.Error("a slow one was asked about first, and the round had no time left")
	}
	b.wantAdmitted(map[string]bool{"fast": true}) // the hold rule was asked, too
}
