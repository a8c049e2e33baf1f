package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdshort/holdshort/policies"
)

// The loop sees Jobs long before they are its own.
func TestAJobArrivesWhenItEntersItsQueue(t *testing.T) {
	b := newBench(t, map[string]string{"data.yaml": loopPolicy})
	b.create("late", 2)
	job, _ := b.get("late")
	job.Labels = nil
	if err := b.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	b.watch("late")
	b.step()
	b.now = b.now.Add(time.Hour)
	job, _ = b.get("late")
	job.Labels = map[string]string{policies.LabelQueue: "research"}
	if err := b.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	b.watch("late")
	b.step()
	job, _ = b.get("late")
	if got, want := job.Annotations[policies.AnnotationArrival], fmt.Sprint(b.now.UnixNano()); got != want {
		t.Errorf("arrival %q, want %s, when it got its label", got, want)
	}
}
