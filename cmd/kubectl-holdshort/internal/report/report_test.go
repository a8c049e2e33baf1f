package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

func TestState(t *testing.T) {
	const held = `{"uid":"u","queue":"q","time":1,"podSets":[{"name":"main","count":1,"requests":{"pods":1},"flavors":{"pods":"f"}}]}`
	tests := map[string]struct {
		change func(*batchv1.Job)
		want   string
	}{
		"suspended and queued is waiting":          {func(*batchv1.Job) {}, StateWaiting},
		"without the label it is not managed":      {func(j *batchv1.Job) { delete(j.Labels, policies.LabelQueue) }, StateUnmanaged},
		"an empty queue label is managed":          {func(j *batchv1.Job) { j.Labels[policies.LabelQueue] = "" }, StateWaiting},
		"a Job of kube-system is not managed":      {func(j *batchv1.Job) { j.Namespace = "kube-system" }, StateUnmanaged},
		"another controller's Job is not managed":  {func(j *batchv1.Job) { j.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue") }, StateUnmanaged},
		"the owner's wish is held":                 {func(j *batchv1.Job) { j.Annotations[policies.AnnotationHold] = "" }, StateHeld},
		"the label says rejected":                  {func(j *batchv1.Job) { j.Labels[policies.LabelState] = policies.StateRejected }, StateRejected},
		"reserved and running is admitted":         {func(j *batchv1.Job) { run(j); j.Annotations[policies.AnnotationReservation] = held }, StateAdmitted},
		"running without reservation is just that": {run, StateUncharged},
		"running past the queue is told apart": {func(j *batchv1.Job) {
			run(j)
			j.Annotations[policies.AnnotationBypass] = "incident 7"
		}, StateBypassed},
		"a failed Job has failed whatever its label says": {func(j *batchv1.Job) {
			run(j)
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		}, StateFailed},
		"a Job on its way out is deleting": {func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, StateDeleting},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			job := &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{
					Name: "j", Namespace: "n", UID: "u", Annotations: map[string]string{},
					Labels: map[string]string{policies.LabelQueue: "q", policies.LabelState: policies.StateQueued},
				},
				Spec: batchv1.JobSpec{Suspend: new(true)},
			}
			test.change(job)
			if got := NewJob(job, nil).State; got != test.want {
				t.Errorf("state %q, want %q", got, test.want)
			}
		})
	}
}

func run(j *batchv1.Job) {
	j.Spec.Suspend = new(false)
	j.Labels[policies.LabelState] = policies.StateAdmitted
}

func TestAdviceIsThereForEveryCode(t *testing.T) {
	for _, entry := range reason.Catalogue() {
		got := advice(string(entry.Code), StateWaiting)
		// What a rule of the policy says is in the message, in its own words.
		if (got.Text == "") != (entry.Code == reason.HeldByPolicy) {
			t.Errorf("%s: advice %q; add some to the catalogue if it has none", entry.Code, got.Text)
		}
		if want := entry.Group == reason.GroupNeedsUser; (got.CanEverRun == No) != want {
			t.Errorf("%s: can it ever run? %s", entry.Code, got.CanEverRun)
		}
	}
}

func TestEventsAreTheLatestInOrder(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 2, 9, minute, 0, 0, time.UTC) }
	var list []corev1.Event
	for minute := range 7 {
		list = append(list, corev1.Event{Reason: "Waiting", LastTimestamp: metav1.NewTime(at(10 - minute))})
	}
	list = append(list, corev1.Event{
		Reason: "Admitted", EventTime: metav1.NewMicroTime(at(1)),
		Series: &corev1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(at(11))},
	})
	var got []string
	for _, e := range events(list) {
		got = append(got, e.Time.Format("15:04 ")+e.Reason)
	}
	want := []string{"09:07 Waiting", "09:08 Waiting", "09:09 Waiting", "09:10 Waiting", "09:11 Admitted"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestEventsOfTheLedgerAreKept(t *testing.T) {
	moment := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	list := []corev1.Event{{Reason: "Admitted", ReportingController: ownEvents, EventTime: metav1.NewMicroTime(moment)}}
	for i := range 9 {
		list = append(list, corev1.Event{Reason: "SuccessfulCreate", LastTimestamp: metav1.NewTime(moment.Add(time.Duration(i+1) * time.Second))})
	}
	got := events(list)
	if len(got) != eventsMax || got[0].Reason != "Admitted" || got[1].Reason != "SuccessfulCreate" {
		t.Errorf("events %+v; want Admitted and the latest %d of the others", got, eventsMax-1)
	}
}

func TestMisspeltLabels(t *testing.T) {
	tests := map[string]struct {
		labels map[string]string
		want   []string
	}{
		"two letters that changed places":   {map[string]string{"holdshort.dev/qeue": "a"}, []string{"holdshort.dev/qeue=a"}},
		"another domain of ours":            {map[string]string{"holdshort.io/queue": "a"}, []string{"holdshort.io/queue=a"}},
		"a slip in the domain":              {map[string]string{"holdshrot.dev/queue": "a"}, []string{"holdshrot.dev/queue=a"}},
		"without the domain":                {map[string]string{"queue": "a"}, []string{"queue=a"}},
		"another key of ours":               {map[string]string{"holdshort.dev/line": "a"}, []string{"holdshort.dev/line=a"}},
		"Kueue's label is somebody else's":  {map[string]string{"kueue.x-k8s.io/queue-name": "a"}, nil},
		"the priority alone is no slip":     {map[string]string{"holdshort.dev/priority": "a"}, nil},
		"who has the label needs no advice": {map[string]string{"holdshort.dev/queue": "a", "holdshort.dev/qeue": "a"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := misspelt(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: test.labels}})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("misspelt (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventsOfOneSecondAreInTheOrderOfTheServer(t *testing.T) {
	moment := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	list := []corev1.Event{
		{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1000"}, Reason: "SuccessfulCreate", LastTimestamp: metav1.NewTime(moment)},
		{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "999"}, Reason: "Admitted", EventTime: metav1.NewMicroTime(moment.Add(400 * time.Millisecond))},
	}
	got := events(list)
	if got[0].Reason != "Admitted" || got[1].Reason != "SuccessfulCreate" {
		t.Errorf("%s before %s", got[0].Reason, got[1].Reason)
	}
}

func TestAJobThatTakesNoWordOfTheLedgerIsNotTakenForAnUndecidedOne(t *testing.T) {
	refused := corev1.Event{Reason: writeRefused, ReportingController: ownEvents}
	x := JobExplanation{Job: Job{State: StateWaiting}}
	x.wait(Evidence{Events: []corev1.Event{{Reason: "SuccessfulCreate"}}})
	if !strings.Contains(x.Advice.Text, "whether the manager runs") {
		t.Errorf("without a refusal the advice is %q", x.Advice.Text)
	}
	x.wait(Evidence{Events: []corev1.Event{{Reason: "SuccessfulCreate"}, refused}})
	if !strings.Contains(x.Advice.Text, "shorten its annotations") {
		t.Errorf("with one the advice is %q", x.Advice.Text)
	}
	x.Code = "WaitingForQuota"
	x.wait(Evidence{Events: []corev1.Event{refused}})
	if strings.Contains(x.Advice.Text, "shorten") {
		t.Errorf("a Job that has a reason is told %q", x.Advice.Text)
	}
}

// Where volumes are is known when a Job is let go, and not to the plugin.
func TestWhatIsUnverifiedOfVolumesIsWhatWasRecorded(t *testing.T) {
	job := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: "n", UID: "u", Labels: map[string]string{"holdshort.dev/queue": "research"}}}
	job.Spec.Template.Spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "d"}}},
	}
	suspended := true
	job.Spec.Suspend = &suspended
	if got := Explain(Evidence{Job: &job}).Asks[0].Unverified; got != nil {
		t.Errorf("of a waiting Job %v is unverified, want nothing", got)
	}
	suspended = false
	for recorded, want := range map[string][]string{"": nil, `"unverified":["volume data"],`: {"volume data"}} {
		job.Annotations = map[string]string{"holdshort.dev/reservation": `{"uid":"u","queue":"research","podSets":[{"name":"main","count":1,` + recorded + `"flavors":{"pods":"gpu"}}],"time":1}`}
		if got := Explain(Evidence{Job: &job}).Asks[0].Unverified; !slices.Equal(got, want) {
			t.Errorf("%v is unverified, want %v", got, want)
		}
	}
}
