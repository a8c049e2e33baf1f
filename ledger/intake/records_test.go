package intake_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// second is 2026-01-01T00:00:10Z.
const second = int64(1_767_225_610_000_000_000)

func TestArrival(t *testing.T) {
	cases := []struct {
		name      string
		metadata  string
		firstSeen int64
		want      demand.Arrival
	}{
		{
			name:     "a stamp within the creation second is the arrival",
			metadata: `annotations: {holdshort.dev/arrival: "1767225610700000000"}`,
			want:     demand.Arrival{Effective: second + 700_000_000, Stamp: second + 700_000_000, Stamped: true},
		},
		{
			name:     "a stamp before the creation gains nothing over it",
			metadata: `annotations: {holdshort.dev/arrival: "5"}`,
			want:     demand.Arrival{Effective: second, Stamp: 5, Stamped: true},
		},
		{
			name:      "without a stamp but seen by the API server it is the last of its second",
			metadata:  `labels: {holdshort.dev/state: queued}`,
			firstSeen: second + 5,
			want:      demand.Arrival{Effective: second + 999_999_999, Stamp: second + 999_999_999},
		},
		{
			name:      "seen by nobody it counts from when the ledger first saw it",
			firstSeen: second + 3_600_000_000_000,
			want:      demand.Arrival{Effective: second + 3_600_000_000_000, Stamp: second + 3_600_000_000_000},
		},
		{
			name:      "the ledger's clock may be behind the API server's",
			firstSeen: second - 1,
			want:      demand.Arrival{Effective: second, Stamp: second},
		},
		{
			name:     "a stamp that is no number is no stamp",
			metadata: `{labels: {holdshort.dev/state: queued}, annotations: {holdshort.dev/arrival: soon}}`,
			want:     demand.Arrival{Effective: second + 999_999_999, Stamp: second + 999_999_999},
		},
		{
			name:     "a negative stamp is no stamp",
			metadata: `{labels: {holdshort.dev/state: queued}, annotations: {holdshort.dev/arrival: "-1"}}`,
			want:     demand.Arrival{Effective: second + 999_999_999, Stamp: second + 999_999_999},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := &batchv1.Job{}
			if c.metadata != "" {
				job = parse[batchv1.Job](t, "metadata: {"+trimBraces(c.metadata)+"}")
			}
			job.CreationTimestamp = parse[batchv1.Job](t, `metadata: {creationTimestamp: "2026-01-01T00:00:10Z"}`).CreationTimestamp
			got := intake.Job(job, intake.Env{FirstSeen: c.firstSeen}).Arrival
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("arrival (-want +got):\n%s", diff)
			}
		})
	}
}

func trimBraces(text string) string {
	if text[0] == '{' {
		return text[1 : len(text)-1]
	}
	return text
}

// A Job that the ledger stamps keeps its place.
func TestStampingChangesNoPlace(t *testing.T) {
	job := parse[batchv1.Job](t, `metadata: {uid: u1, creationTimestamp: "2026-01-01T00:00:10Z", labels: {holdshort.dev/state: queued}}`)
	before := intake.Job(job, intake.Env{})
	job.Annotations = map[string]string{policies.AnnotationArrival: "1767225610999999999"}
	after := intake.Job(job, intake.Env{})
	if demand.CompareArrival(before, after) != 0 {
		t.Errorf("place moved from %v to %v", before.Arrival, after.Arrival)
	}
}

func TestReservationCountsOnlyForItsOwnJob(t *testing.T) {
	valid := `{"uid":"u1","queue":"research","podSets":[{"name":"main","count":4,"requests":{"nvidia.com/gpu":1,"pods":1},"flavors":{"nvidia.com/gpu":"h100"}}],"revision":"abc","time":7}`
	want := &demand.Reservation{
		UID: "u1", Queue: "research", Revision: "abc", Time: 7,
		PodSets: []demand.ReservedPodSet{{
			Name: "main", Count: 4, Requests: resource.List{"nvidia.com/gpu": 1, "pods": 1},
			Flavors: map[string]string{"nvidia.com/gpu": "h100"},
		}},
	}
	cases := []struct {
		name string
		uid  string
		text string
		want *demand.Reservation
	}{
		{"its own", "u1", valid, want},
		{"a key of a later build is passed over", "u1", `{"later":{"x":1},` + valid[1:], want},
		{"that of a deleted Job of the same name does not", "u2", valid, nil},
		{"one without UID does not, for a Job that has none yet", "", `{"uid":"","queue":"q","podSets":[{"name":"main","count":1}]}`, nil},
		{"one that cannot be read does not", "u1", `{"uid":"u1","queue":`, nil},
		{"one with something behind it does not", "u1", valid + "x", nil},
		{"an empty one does not", "u1", ``, nil},
		{"one without a queue does not", "u1", `{"uid":"u1","podSets":[{"name":"main","count":1}]}`, nil},
		{"one without pod sets does not", "u1", `{"uid":"u1","queue":"q","podSets":[]}`, nil},
		{"one with a second pod set does not", "u1",
			`{"uid":"u1","queue":"q","podSets":[{"name":"main","count":1},{"name":"more","count":9}]}`, nil},
		{"one with a pod set that no Job has does not", "u1", `{"uid":"u1","queue":"q","podSets":[{"name":"workers","count":1}]}`, nil},
		{"one with a queue that no policy can have does not", "u1", `{"uid":"u1","queue":"Not/A Queue","podSets":[{"name":"main","count":1}]}`, nil},
		{"one with a queue's name that is too long does not", "u1",
			`{"uid":"u1","queue":"` + strings.Repeat("q", 64) + `","podSets":[{"name":"main","count":1}]}`, nil},
		{"one with a flavor that no policy can have does not", "u1",
			`{"uid":"u1","queue":"q","podSets":[{"name":"main","count":1,"flavors":{"pods":""}}]}`, nil},
		{"one with a negative count does not", "u1", `{"uid":"u1","queue":"q","podSets":[{"name":"main","count":-1}]}`, nil},
		{"one with negative requests does not", "u1", `{"uid":"u1","queue":"q","podSets":[{"name":"main","count":1,"requests":{"cpu":-5}}]}`, nil},
		{"one whose numbers are text does not", "u1", `{"uid":"u1","queue":"q","podSets":[{"name":"main","count":"4"}]}`, nil},
		{"one whose numbers are too big does not", "u1", `{"uid":"u1","queue":"q","podSets":[{"name":"main","count":99999999999999999999}]}`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := parse[batchv1.Job](t, `metadata: {uid: "`+c.uid+`"}`)
			job.Annotations = map[string]string{policies.AnnotationReservation: c.text}
			if diff := cmp.Diff(c.want, intake.Job(job, intake.Env{}).Reservation); diff != "" {
				t.Errorf("reservation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSuspensionEndsTheReservation(t *testing.T) {
	text := `{"uid":"u1","queue":"research","podSets":[{"name":"main","count":1,"requests":{"pods":1},"flavors":{"pods":"h100"}}],"time":7}`
	for _, c := range []struct {
		name, spec string
		counts     bool
	}{
		{"a running Job's counts", `suspend: false`, true},
		{"so does that of a Job that does not say", ``, true},
		{"a suspended Job's does not, whoever suspended it", `suspend: true`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := parse[batchv1.Job](t, `{metadata: {uid: u1}, spec: {`+c.spec+`}}`)
			job.Annotations = map[string]string{policies.AnnotationReservation: text}
			got := intake.Job(job, intake.Env{})
			if (got.Reservation != nil) != c.counts || got.Admitted() != c.counts {
				t.Errorf("reservation %+v, admitted %t; want it to count: %t", got.Reservation, got.Admitted(), c.counts)
			}
		})
	}
}

func TestBackoffCountsOnlyForItsOwnJob(t *testing.T) {
	cases := []struct {
		name, text string
		want       demand.Backoff
	}{
		{"its own", `{"uid":"u1","count":2,"until":9,"code":"Fragmented"}`, demand.Backoff{UID: "u1", Count: 2, Until: 9, Code: "Fragmented"}},
		{"another's", `{"uid":"u2","count":2,"until":9}`, demand.Backoff{}},
		{"one that cannot be read", `{"uid":"u1","count":[]}`, demand.Backoff{}},
		{"one below zero", `{"uid":"u1","count":-2,"until":-9}`, demand.Backoff{UID: "u1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := parse[batchv1.Job](t, `metadata: {uid: u1}`)
			job.Annotations = map[string]string{policies.AnnotationBackoff: c.text}
			if diff := cmp.Diff(c.want, intake.Job(job, intake.Env{}).Backoff); diff != "" {
				t.Errorf("backoff (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwnersWishes(t *testing.T) {
	cases := []struct {
		name           string
		annotations    map[string]string
		holds, bypassd bool
	}{
		{"no annotation holds nothing", nil, false, false},
		{"hold: true holds", map[string]string{policies.AnnotationHold: "true"}, true, false},
		{"an empty hold holds", map[string]string{policies.AnnotationHold: ""}, true, false},
		{"hold: false does not", map[string]string{policies.AnnotationHold: "false"}, false, false},
		{"a bypass says why", map[string]string{policies.AnnotationBypass: "incident 7"}, false, true},
		{"a bypass without a reason is none", map[string]string{policies.AnnotationBypass: " "}, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := &batchv1.Job{}
			job.Annotations = c.annotations
			got := intake.Job(job, intake.Env{})
			if got.HeldByOwner != c.holds || got.Bypass != c.bypassd {
				t.Errorf("held %t bypass %t, want %t %t", got.HeldByOwner, got.Bypass, c.holds, c.bypassd)
			}
		})
	}
}

func TestStateOfTheJobObject(t *testing.T) {
	running := `
metadata: {uid: u1, resourceVersion: "7", generation: 3, labels: {holdshort.dev/state: admitted}}
spec: {suspend: false}
status: {startTime: "2026-01-01T00:00:10Z", active: 2, terminating: 1, conditions: [{type: Suspended, status: "False"}]}`
	suspended := `
spec: {suspend: true}
status: {startTime: "2026-01-01T00:00:10Z", conditions: [{type: Suspended, status: "True"}]}`
	suspending := `
spec: {suspend: true}
status: {startTime: "2026-01-01T00:00:10Z", active: 2}`
	got := intake.Job(parse[batchv1.Job](t, running), intake.Env{})
	if got.Suspended || !got.Started || got.Active != 2 || got.Terminating != 1 || got.State != policies.StateAdmitted || got.ResourceVersion != "7" || got.Generation != 3 {
		t.Errorf("running Job read as %+v", got)
	}
	if got := intake.Job(parse[batchv1.Job](t, suspended), intake.Env{}); !got.Suspended || got.Started {
		t.Errorf("suspended Job read as suspended %t started %t", got.Suspended, got.Started)
	}
	if got := intake.Job(parse[batchv1.Job](t, suspending), intake.Env{}); !got.Started {
		t.Error("until the Job controller records the suspension, the Job counts as started: its template cannot be changed")
	}
}

func TestPodsThatEndedAreCountedFromTheStatus(t *testing.T) {
	job := parse[batchv1.Job](t, wholeJob)
	job.Status.Succeeded, job.Status.Failed = 2, 1
	if got := intake.Job(job, policyEnv(t)).Ended; got != 3 {
		t.Errorf("%d pods ended, want 3", got)
	}
}
