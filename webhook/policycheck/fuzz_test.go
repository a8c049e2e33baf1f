package policycheck_test

import (
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdshort/holdshort/policies/engine"
)

// FuzzReview: whatever object a review carries, there is an answer that the API
// server can pass on; what the engine takes is never refused; and what is alone
// and refused by the engine is not let pass in silence.
func FuzzReview(f *testing.F) {
	object := func(data files) []byte {
		raw, err := json.Marshal(configMap("policy", data, ""))
		if err != nil {
			f.Fatal(err)
		}
		return raw
	}
	f.Add(object(files{"data.yaml": good}), []byte(nil))
	f.Add(object(files{"data.yaml": good, "mine.rego": syntax}), object(files{"data.yaml": good}))
	f.Add([]byte(`{"data":{"data.yaml":"a: [\ud800"},"binaryData":{"x":"AAA="}}`), []byte(nil))
	f.Add([]byte(`{"metadata":{"deletionTimestamp":"x"}}`), []byte(`[]`))
	check := checker(nil, "policy")
	f.Fuzz(func(t *testing.T, now, old []byte) {
		r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			UID: "1", Name: "policy", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: now},
		}}
		if len(old) > 0 {
			r.Operation, r.OldObject.Raw = admissionv1.Update, old
		}
		answer := check.Handle(t.Context(), r)
		for _, warning := range answer.Warnings {
			if !utf8.ValidString(warning) || len(warning) > 256 {
				t.Errorf("the API server would cut or change the warning %q", warning)
			}
		}
		var read corev1.ConfigMap
		if len(old) > 0 || json.Unmarshal(now, &read) != nil {
			return
		}
		bundle, err := engine.FromConfigMaps(map[string]map[string]string{"policy": read.Data})
		if err == nil {
			_, err = engine.Compile(context.WithoutCancel(t.Context()), bundle, engine.Options{})
		}
		if err == nil && !answer.Allowed {
			t.Errorf("refused, though the engine takes it: %s", answer.Result.Message)
		}
		if err != nil && answer.Allowed && len(answer.Warnings) == 0 {
			t.Errorf("passes without a word, though the engine refuses it: %v", err)
		}
	})
}
