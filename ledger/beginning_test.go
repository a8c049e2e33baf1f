package ledger

import (
	"testing"
	"time"

	"github.com/holdshort/holdshort/policies"
)

// The Job controller makes the pods by what it last saw of the Job, and only then says
// that it has begun it.
func TestAJobIsTakenBackOnlyWhenTheJobControllerHasBegunIt(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(*bench)
		back bool
	}{
		{"as long as it says nothing, it may be making pods", func(b *bench) { b.now = b.now.Add(20 * time.Second) }, false},
		{"once it has, nobody waits any longer", func(b *bench) { b.begin("held") }, true},
		{"if it says nothing for long, it does nothing either", func(b *bench) { b.now = b.now.Add(30 * time.Second) }, true},
		{"a clock that was set back keeps nobody", func(b *bench) { b.now = b.now.Add(-time.Hour) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"data.yaml": loopPolicy})
			b.create("held", 4)
			b.step()
			job, _ := b.get("held")
			job.Annotations[policies.AnnotationHold] = ""
			if err := b.store.Update(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			b.watch("held")
			c.then(b)
			b.step()
			b.wantAdmitted(map[string]bool{"held": !c.back})
		})
	}
}
