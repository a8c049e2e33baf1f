package intake_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
)

func TestHowLongAJobMayRun(t *testing.T) {
	const ask = `metadata.annotations[holdshort.dev/max-runtime-seconds]: `
	for _, c := range []struct {
		name, annotations string
		want              int64
		problem           string
	}{
		{"without the annotation for as long as it likes", `{}`, 0, ""},
		{"with it for so many seconds", `{holdshort.dev/max-runtime-seconds: "3600"}`, 3600, ""},
		{"however many", `{holdshort.dev/max-runtime-seconds: "9223372036854775807"}`, math.MaxInt64, ""},
		{"none is a mistake", `{holdshort.dev/max-runtime-seconds: "0"}`, 0,
			ask + `"0" is not a whole number of seconds, 1 or more. Try: "3600" for an hour`},
		{"fewer than none too", `{holdshort.dev/max-runtime-seconds: "-5"}`, 0,
			ask + `"-5" is not a whole number of seconds, 1 or more. Try: "3600" for an hour`},
		{"so is a duration", `{holdshort.dev/max-runtime-seconds: 1h}`, 0,
			ask + `"1h" is not a whole number of seconds, 1 or more. Try: "3600" for an hour`},
		{"and nothing at all", `{holdshort.dev/max-runtime-seconds: ""}`, 0,
			ask + `"" is not a whole number of seconds, 1 or more. Try: "3600" for an hour`},
		{"and more than can be counted", `{holdshort.dev/max-runtime-seconds: "9223372036854775808"}`, 0,
			ask + `"9223372036854775808" is not a whole number of seconds, 1 or more. Try: "3600" for an hour`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := intake.Job(parse[batchv1.Job](t, "metadata: {uid: u1, annotations: "+c.annotations+"}\nspec: {suspend: true}"), intake.Env{})
			problem := ""
			if got.Problem != nil {
				problem = got.Problem.Message
			}
			if got.MaxRuntimeSec != c.want || problem != c.problem {
				t.Errorf("may run for %d s, problem %q; want %d and %q", got.MaxRuntimeSec, problem, c.want, c.problem)
			}
			if got.Problem != nil && got.Problem.Code != reason.BadRequest {
				t.Errorf("code %s", got.Problem.Code)
			}
		})
	}
}

func TestHowLongAJobHasRun(t *testing.T) {
	const (
		reserved = `holdshort.dev/reservation: '{"uid":"u1","queue":"q","time":1767225600000000000,"podSets":[{"name":"main"}]}'`
		marked   = `{conditions: [{type: Suspended, status: "True", lastTransitionTime: "2026-01-01T00:00:10Z"}]}`
	)
	for _, c := range []struct {
		name, annotations, spec, status string
		want                            int64 // seconds
	}{
		{"a new one not at all", "", "{suspend: true}", "{}", 0},
		{"what is written on it", `holdshort.dev/ran: '{"uid":"u1","nanoseconds":90000000000}'`, "{suspend: true}", "{}", 90},
		{"not what is written of another", `holdshort.dev/ran: '{"uid":"u2","nanoseconds":90000000000}'`, "{suspend: true}", "{}", 0},
		{"nor less than nothing", `holdshort.dev/ran: '{"uid":"u1","nanoseconds":-90000000000}'`, "{suspend: true}", "{}", 0},
		{"nor what cannot be read", `holdshort.dev/ran: "90"`, "{suspend: true}", "{}", 0},
		{"what runs without its present admission", `holdshort.dev/ran: '{"uid":"u1","nanoseconds":90000000000}', ` + reserved, "{}", "{}", 90},
		{"an admission that somebody else ended until that was seen", `holdshort.dev/ran: '{"uid":"u1","nanoseconds":90000000000}', ` + reserved,
			"{suspend: true}", marked, 100},
		{"which it was not yet", reserved, "{suspend: true}", "{}", 0},
		{"of a copied manifest nothing counts", `holdshort.dev/reservation: '{"uid":"u2","queue":"q","time":1767225600000000000}'`, "{suspend: true}", marked, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "metadata: {uid: u1, annotations: {" + c.annotations + "}}\nspec: " + c.spec + "\nstatus: " + c.status
			if diff := cmp.Diff(c.want*1_000_000_000, intake.Job(parse[batchv1.Job](t, text), intake.Env{}).Ran); diff != "" {
				t.Errorf("it ran (-want +got):\n%s", diff)
			}
		})
	}
}
