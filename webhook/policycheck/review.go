package policycheck

import (
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdshort/holdshort/policies/engine"
)

// versionLabel is set by the chart: which version of holdshort wrote the policy.
const versionLabel = "app.kubernetes.io/version"

// edit is what a request wants to change.
type edit struct {
	name      string
	labels    map[string]string
	data      map[string]string
	existed   bool // as a part of the policy
	oldLabels map[string]string
	before    map[string]string // files
	deleted   bool              // it only waits for finalizers
	upgrades  string            // a sentence, if holdshort's version changes with it
}

// read takes out of a request what the check is about.
func read(req admission.Request) (edit, error) {
	var now, old corev1.ConfigMap
	if err := json.Unmarshal(req.Object.Raw, &now); err != nil {
		return edit{}, fmt.Errorf("reading the ConfigMap: %w", err)
	}
	e := edit{
		name: req.Name, labels: now.Labels, data: engine.ConfigMapFiles(now.Data, now.BinaryData),
		deleted: now.DeletionTimestamp != nil,
	}
	if req.Operation != admissionv1.Update {
		return e, nil
	}
	if err := json.Unmarshal(req.OldObject.Raw, &old); err != nil {
		return edit{}, fmt.Errorf("reading the ConfigMap as it was: %w", err)
	}
	e.existed, e.oldLabels, e.before = true, old.Labels, engine.ConfigMapFiles(old.Data, old.BinaryData)
	if from, to := old.Labels[versionLabel], now.Labels[versionLabel]; from != "" && to != "" && from != to {
		e.upgrades = fmt.Sprintf("holdshort goes from version %s to %s", from, to)
	}
	return e, nil
}
