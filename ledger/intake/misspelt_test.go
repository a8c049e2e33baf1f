package intake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/intake"
)

func TestMisspeltKeysAndWhatWasMeant(t *testing.T) {
	for _, c := range []struct{ kind, key, want string }{
		{intake.Label, "holdshort.dev/queue", ""},
		{intake.Annotation, "holdshort.dev/hold", ""},
		{intake.Annotation, "holdshort.dev/reservation", ""}, // of a Job that was read and is created anew
		{intake.Label, "holdshort.dev/state", ""},
		{intake.Label, "app", ""},
		{intake.Label, "plane.holdshort.dev/run", ""},
		{intake.Label, "holdshorts.example/colour", ""},
		{intake.Label, "holdshort.dev/prority", "label holdshort.dev/priority"},
		{intake.Annotation, "holdshort.dev/hodl", "annotation holdshort.dev/hold"},
		{intake.Annotation, "holdshort.dev/max-runtime", "annotation holdshort.dev/max-runtime-seconds"},
		{intake.Annotation, "holdshort.dev/min_parallelism", "annotation holdshort.dev/min-parallelism"},
		{intake.Annotation, "holdshort.dev/topology", "annotation holdshort.dev/required-topology"},
		{intake.Label, "holdshort.dev/hold", "annotation holdshort.dev/hold"},
		{intake.Annotation, "holdshort.dev/priority", "label holdshort.dev/priority"},
		{intake.Annotation, "holdshort.io/hold", "annotation holdshort.dev/hold"},
		{intake.Annotation, "holdshot.dev/hold", "annotation holdshort.dev/hold"},
		{intake.Annotation, "holdshort.dev/colour", "any"},
	} {
		meant, odd := intake.Misspelt(c.kind, c.key)
		got := ""
		switch {
		case odd && len(meant) == 1:
			got = meant[0].Kind + " " + meant[0].Key
		case odd:
			got = "any"
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.kind, c.key, diff)
		}
	}
}
