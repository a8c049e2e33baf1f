package webhook_test

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// FuzzReview: whatever object a review carries, the answer is a refusal or a
// patch that fits the object; and a Job that is ours is suspended when it is
// created. An empty old object means CREATE.
func FuzzReview(f *testing.F) {
	const job = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"train","labels":{"holdshort.dev/queue":"lab"}},` +
		`"spec":{"parallelism":2,"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]}}}}`
	f.Add([]byte(job), []byte(nil))
	f.Add([]byte(job), []byte(job))
	f.Add([]byte(`{"metadata":{"labels":null,"annotations":{"holdshort.dev/reservation":"{"}},"spec":null}`), []byte(nil))
	f.Add([]byte(`{"metadata":{"labels":{"holdshort.dev/queue":""}},"spec":{"suspend":"yes"}}`), []byte(`[]`))
	scope := intake.Scope{OwnNamespace: "holdshort-system"}
	f.Fuzz(func(t *testing.T, object, old []byte) {
		request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			UID: "1", Namespace: "research", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: object},
			UserInfo: authenticationv1.UserInfo{Username: "alice"},
		}}
		if len(old) > 0 {
			request.Operation, request.OldObject.Raw = admissionv1.Update, old
		}
		answer := handler(&fakePolicy{}).Handle(t.Context(), request)
		if !answer.Allowed {
			if answer.Result == nil || answer.Result.Message == "" {
				t.Fatal("refused without a word")
			}
			return
		}
		patched := object
		if len(answer.Patches) > 0 {
			text, err := json.Marshal(answer.Patches)
			if err != nil {
				t.Fatal(err)
			}
			patch, err := jsonpatch.DecodePatch(text)
			if err != nil {
				t.Fatal(err)
			}
			if patched, err = patch.Apply(object); err != nil {
				t.Fatalf("the patch %s does not fit: %v", text, err)
			}
		}
		var after batchv1.Job
		if len(old) > 0 || json.Unmarshal(patched, &after) != nil {
			return
		}
		ours := intake.Managed(&after, policies.Namespace{Name: "research", Labels: map[string]string{"team": "nlp"}}, scope)
		if ours && (after.Spec.Suspend == nil || !*after.Spec.Suspend) {
			t.Fatalf("a Job of ours is created unsuspended: %s", patched)
		}
	})
}
