package webhook_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cappedJob runs under a deadline, a time to live and marks that mutate wrote over
// the user's own.
const cappedJob = `
metadata:
  name: a
  namespace: ns
  labels: {holdshort.dev/queue: q, holdshort.dev/state: admitted, centre: "42", mine: x}
  annotations:
    note: policy
    holdshort.dev/mutated: '{"labels":{"centre":{"to":"42"}},"annotations":{"note":{"to":"policy","from":"mine"}},` +
	`"activeDeadlineSeconds":{"to":600,"from":99999},"ttlSecondsAfterFinished":{"to":60,"from":5}}'
spec: {suspend: false, activeDeadlineSeconds: 600, ttlSecondsAfterFinished: 60, template: {}}
`

const (
	keptBegin = "holdshort: the policy set this, and it stays while the Job runs: "
	keptEnd   = "; annotation holdshort.dev/mutated has all that it set"
)

func TestWhatMutateSetStaysWhileTheJobRuns(t *testing.T) {
	const over = "status: {conditions: [{type: Complete, status: 'True'}]}\n"
	none := cappedJob + over
	for _, c := range []struct {
		name, old  string
		edit, want []string // pairs: what is replaced in the old one, and by what
		warned     string
	}{
		{name: "a longer deadline is put back", edit: []string{"Seconds: 600", "Seconds: 99998"},
			warned: "activeDeadlineSeconds 600 (only a shorter one is taken)"},
		{name: "the manifest's own deadline is put back without a word", edit: []string{"Seconds: 600", "Seconds: 99999"}},
		{name: "a deadline is put back that the manifest has just as the policy wants it", old: strings.Replace(cappedJob, `"from":99999`, `"from":600`, 1),
			edit: []string{"Seconds: 600", "Seconds: 99998"}, warned: "activeDeadlineSeconds 600 (only a shorter one is taken)"},
		{name: "no deadline is put back", edit: []string{"activeDeadlineSeconds: 600, ", ""},
			warned: "activeDeadlineSeconds 600 (only a shorter one is taken)"},
		{name: "a shorter deadline is taken", edit: []string{"Seconds: 600", "Seconds: 599"}, want: []string{"Seconds: 600", "Seconds: 599"}},
		{name: "what was made shorter stays so where more is asked for", old: strings.Replace(cappedJob, "Seconds: 600", "Seconds: 300", 1),
			edit: []string{"Seconds: 300", "Seconds: 99998"}, warned: "activeDeadlineSeconds 300 (only a shorter one is taken)"},
		{name: "also for no more than the policy wanted", old: strings.Replace(cappedJob, "Seconds: 600", "Seconds: 300", 1),
			edit: []string{"Seconds: 300", "Seconds: 600"}, warned: "activeDeadlineSeconds 300 (only a shorter one is taken)"},
		{name: "and where the manifest is applied again", old: strings.Replace(cappedJob, "Seconds: 600", "Seconds: 300", 1),
			edit: []string{"Seconds: 300", "Seconds: 99999"}},
		{name: "and where it has none any more", old: strings.Replace(cappedJob, "Seconds: 600", "Seconds: 300", 1),
			edit: []string{"activeDeadlineSeconds: 300, ", ""}, warned: "activeDeadlineSeconds 300 (only a shorter one is taken)"},
		{name: "the shorter deadline that the manifest has is put back", old: strings.Replace(cappedJob, "99999", "300", 1),
			edit: []string{"Seconds: 600", "Seconds: 300"}},
		{name: "what was changed while nobody kept it is put back once it is removed", old: strings.Replace(cappedJob, "Seconds: 600", "Seconds: 99998", 1),
			edit: []string{"activeDeadlineSeconds: 99998, ", ""}, want: []string{"Seconds: 99998", "Seconds: 600"},
			warned: "activeDeadlineSeconds 600 (only a shorter one is taken)"},
		{name: "and left alone while something else is edited", old: strings.Replace(cappedJob, "Seconds: 600", "Seconds: 99998", 1),
			edit: []string{"mine: x", "mine: z"}, want: []string{"mine: x", "mine: z"}},
		{name: "another time to live is put back, also a shorter one", edit: []string{"Finished: 60", "Finished: 59"}, warned: "ttlSecondsAfterFinished 60"},
		{name: "label and annotation are put back, and the user's own label is not", edit: []string{`centre: "42"`, `centre: "43"`, "note: policy", "note: third", "mine: x", "mine: z"},
			want: []string{"mine: x", "mine: z"}, warned: "label centre, annotation note"},
		{name: "a label that is removed is put back", edit: []string{`, centre: "42"`, ""}, warned: "label centre"},
		{name: "what is put into force again after it was changed is no news", old: strings.Replace(cappedJob, `"42"`, `"43"`, 1),
			edit: []string{`"43"`, `"42"`}, want: []string{`"43"`, `"42"`}},
		{name: "a Job that is over is its user's", old: none,
			edit: []string{"Seconds: 600", "Seconds: 99998", "Finished: 60", "Finished: 5", `, centre: "42"`, ""},
			want: []string{"Seconds: 600", "Seconds: 99998", "Finished: 60", "Finished: 5", `, centre: "42"`, ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := c.old
			if old == "" {
				old = cappedJob
			}
			req := request(t, strings.NewReplacer(c.edit...).Replace(old), old)
			response := handler(&fakePolicy{}).Handle(t.Context(), req)
			if diff := cmp.Diff(normal(t, strings.NewReplacer(c.want...).Replace(old)), apply(t, req, response)); diff != "" {
				t.Errorf("stored object (-want +got):\n%s", diff)
			}
			var want []string
			if c.warned != "" {
				want = []string{keptBegin + c.warned + keptEnd}
			}
			if diff := cmp.Diff(want, response.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoSuspendsARunningJobIsToldHowToPauseIt(t *testing.T) {
	suspends := strings.Replace(cappedJob, "suspend: false", "suspend: true", 1)
	req := request(t, suspends, cappedJob)
	response := handler(&fakePolicy{}).Handle(t.Context(), req)
	if diff := cmp.Diff(normal(t, cappedJob), apply(t, req, response)); diff != "" {
		t.Errorf("stored object (-want +got):\n%s", diff)
	}
	want := []string{"holdshort: spec.suspend stays false: the Job runs. Try: kubectl -n ns annotate job a holdshort.dev/hold=WHY, which pauses it"}
	if diff := cmp.Diff(want, response.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	held := strings.Replace(suspends, "note: policy\n", "note: policy\n    holdshort.dev/hold: data\n", 1)
	if got := handler(&fakePolicy{}).Handle(t.Context(), request(t, held, cappedJob)); len(got.Warnings) != 0 || len(got.Patches) != 0 {
		t.Errorf("who holds it is warned %v, and gets %v", got.Warnings, got.Patches)
	}
}
