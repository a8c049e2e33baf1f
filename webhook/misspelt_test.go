package webhook_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMisspeltKeysAreWarnedOf(t *testing.T) {
	for _, c := range []struct {
		name, job, old string
		want           []string
	}{
		{name: "nothing is", job: `{metadata: {name: a, labels: {holdshort.dev/queue: q, holdshort.dev/state: held, app: x}, annotations: {holdshort.dev/hold: ""}}, spec: {template: {}}}`},
		{
			name: "in the object", job: `{metadata: {name: a, labels: {holdshort.dev/queue: q, holdshort.dev/prority: x}}, ` +
				`spec: {template: {metadata: {annotations: {holdshort.dev/max-runtime: "1"}}}}}`,
			want: []string{
				"holdshort: metadata.labels[holdshort.dev/prority]: holdshort has no such label and does not go by it. Did you mean the label holdshort.dev/priority?",
				"holdshort: spec.template.metadata.annotations[holdshort.dev/max-runtime]: holdshort has no such annotation and does not go by it. " +
					"Did you mean the annotation holdshort.dev/max-runtime-seconds?",
			},
		},
		{
			name: "taken out before, and among the fields that the request set",
			job: `{metadata: {name: a, labels: {holdshort.dev/queue: q}, managedFields: [{manager: kubectl, operation: Update, fieldsType: FieldsV1, ` +
				`fieldsV1: {f:metadata: {f:annotations: {.: {}, f:holdshort.dev/colour: {}}}}}]}, spec: {template: {}}}`,
			want: []string{"holdshort: metadata.annotations[holdshort.dev/colour]: holdshort has no such annotation and does not go by it. " +
				"It has queue, priority, hold, min-parallelism, max-runtime-seconds, required-topology, preferred-topology, bypass"},
		},
		{
			name: "of a Job that enters a queue later", old: `{metadata: {name: a}, spec: {suspend: true, template: {}}}`,
			job:  `{metadata: {name: a, labels: {holdshort.dev/queue: q, holdshort.dev/hold: ""}}, spec: {suspend: true, template: {}}}`,
			want: []string{"holdshort: metadata.labels[holdshort.dev/hold]: holdshort has no such label and does not go by it. Did you mean the annotation holdshort.dev/hold?"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := handler(&fakePolicy{}).Handle(t.Context(), request(t, c.job, c.old))
			if !got.Allowed {
				t.Fatalf("refused: %s", got.Result.Message)
			}
			if diff := cmp.Diff(strings.Join(c.want, "\n"), strings.Join(got.Warnings, "\n")); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
