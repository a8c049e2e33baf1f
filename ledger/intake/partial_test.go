package intake_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// counts is what the ledger and the policy count of a Job.
type counts struct{ Count, Min, Made, MadeMin int64 }

func countsOf(d *demand.Job) counts {
	set, made := d.PodSets[0], d.Policy.PodSets[0]
	return counts{set.Count, set.MinCount, made.Count, made.MinCount}
}

func TestAJobStartsWithFewerPodsOnlyAsItsUserSays(t *testing.T) {
	const reduced = `holdshort.dev/injected: '{"uid":"u1","parallelism":{"to":5,"from":8}}'`
	for _, c := range []struct {
		name, annotations, spec, status string
		want                            counts
		problem                         string
	}{
		{name: "without the annotation it needs all", spec: `{suspend: true, parallelism: 8}`, want: counts{8, 0, 8, 0}},
		{name: "with it, as many", annotations: `holdshort.dev/min-parallelism: "4"`, spec: `{suspend: true, parallelism: 8}`, want: counts{8, 4, 8, 4}},
		{name: "all is not fewer", annotations: `holdshort.dev/min-parallelism: "8"`, spec: `{suspend: true, parallelism: 8}`, want: counts{8, 0, 8, 0}},
		{name: "an Indexed one too", annotations: `holdshort.dev/min-parallelism: "4"`,
			spec: `{suspend: true, parallelism: 8, completions: 8, completionMode: Indexed}`, want: counts{8, 4, 8, 4}},
		{name: "of what is left, if that is more", annotations: `holdshort.dev/min-parallelism: "4"`,
			spec: `{suspend: true, parallelism: 8, completions: 8}`, status: `{succeeded: 2}`, want: counts{6, 4, 8, 4}},
		{name: "and all that is left, if that is less", annotations: `holdshort.dev/min-parallelism: "4"`,
			spec: `{suspend: true, parallelism: 8, completions: 8}`, status: `{succeeded: 5}`, want: counts{3, 0, 8, 4}},
		{name: "no pods can not be fewer", annotations: `holdshort.dev/min-parallelism: "1"`, spec: `{suspend: true, parallelism: 0}`, want: counts{0, 0, 0, 0}},
		{name: "more than it asks for is a mistake", annotations: `holdshort.dev/min-parallelism: "9"`, spec: `{suspend: true, parallelism: 8}`,
			want: counts{8, 0, 8, 0}, problem: `"9" is not a whole number from 1 to spec.parallelism. Try: one from 1 to 8`},
		{name: "none is a mistake", annotations: `holdshort.dev/min-parallelism: "0"`, spec: `{suspend: true, parallelism: 8}`,
			want: counts{8, 0, 8, 0}, problem: "Try: one from 1 to 8"},
		{name: "a word is a mistake", annotations: `holdshort.dev/min-parallelism: half`, spec: `{suspend: true, parallelism: 8}`,
			want: counts{8, 0, 8, 0}, problem: `"half"`},
		{name: "nothing at all is a mistake", annotations: `holdshort.dev/min-parallelism: ""`, spec: `{suspend: true}`,
			want: counts{1, 0, 1, 0}, problem: "Try: leave it out, or set it to 1"},
		{name: "what runs with fewer is charged so, and the policy sees what was written", annotations: `holdshort.dev/min-parallelism: "4"` + "\n    " + reduced,
			spec: `{parallelism: 5, completions: 8}`, want: counts{5, 4, 8, 4}},
		{name: "suspended, it asks for all again", annotations: `holdshort.dev/min-parallelism: "4"` + "\n    " + reduced,
			spec: `{suspend: true, parallelism: 5}`, want: counts{8, 4, 8, 4}},
		{name: "what was edited since is the user's", annotations: `holdshort.dev/min-parallelism: "4"` + "\n    " + reduced,
			spec: `{suspend: true, parallelism: 6}`, want: counts{6, 4, 6, 4}},
		{name: "a record of another UID says nothing", annotations: strings.Replace(reduced, "u1", "u2", 1), spec: `{suspend: true, parallelism: 5}`, want: counts{5, 0, 5, 0}},
		{name: "nor does one that made it bigger", annotations: strings.Replace(reduced, `"from":8`, `"from":3`, 1), spec: `{suspend: true, parallelism: 5}`, want: counts{5, 0, 5, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "metadata:\n  uid: u1\n  annotations:\n    a: b\n    " + c.annotations + "\nspec: " + c.spec
			if c.status != "" {
				text += "\nstatus: " + c.status
			}
			got := intake.Job(parse[batchv1.Job](t, text), intake.Env{})
			if diff := cmp.Diff(c.want, countsOf(got)); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			switch {
			case (got.Problem == nil) != (c.problem == ""):
				t.Errorf("problem is %v, want %q", got.Problem, c.problem)
			case got.Problem != nil && (got.Problem.Code != reason.BadRequest || !strings.Contains(got.Problem.Message, c.problem)):
				t.Errorf("problem is %v, want BadRequest with %q", got.Problem, c.problem)
			}
		})
	}
}

func TestWhatIsCountedOfAReducedJobIsWhatItsUserWroteAndChargedIsWhatRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int32Range(2, 50).Draw(t, "written")
		to := rapid.Int32Range(1, from-1).Draw(t, "reduced")
		now := rapid.SampledFrom([]int32{to, rapid.Int32Range(0, to).Draw(t, "edited")}).Draw(t, "now")
		suspend := rapid.Bool().Draw(t, "suspend")
		record, err := json.Marshal(demand.Injected{UID: "u1", Parallelism: &demand.Change[int32]{To: to, From: &from}})
		if err != nil {
			t.Fatal(err)
		}
		job := &batchv1.Job{}
		job.UID, job.Spec.Suspend, job.Spec.Parallelism = "u1", &suspend, &now
		job.Annotations = map[string]string{policies.AnnotationInjected: string(record), policies.AnnotationLeast: fmt.Sprint(to)}
		want := int64(now) // of its user, or what runs
		if suspend && now == to {
			want = int64(from)
		}
		got, bare := intake.Job(job, intake.Env{}), intake.Job(intake.AsWritten(job), intake.Env{})
		if got.PodSets[0].Count != want {
			t.Errorf("counted %d, want %d", got.PodSets[0].Count, want)
		}
		if got.Digest != bare.Digest {
			t.Errorf("the policy sees %+v, and of the Job as written %+v", got.Policy, bare.Policy)
		}
		if suspend && bare.PodSets[0].Count != want {
			t.Errorf("as written it asks for %d, want %d", bare.PodSets[0].Count, want)
		}
	})
}
