package intake

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// topology is at which level the pods are to be near each other. An empty annotation is
// none, so that a policy can take a wish back.
func topology(job *batchv1.Job) demand.Topology {
	if level := job.Annotations[policies.AnnotationRequiredTopology]; level != "" {
		return demand.Topology{Level: level, Required: true}
	}
	return demand.Topology{Level: job.Annotations[policies.AnnotationPreferredTopology]}
}

// badTopology is what is wrong with the annotations, nil if nothing.
func badTopology(job *batchv1.Job) *reason.Reason {
	asked := 0
	for _, key := range []string{policies.AnnotationRequiredTopology, policies.AnnotationPreferredTopology} {
		if _, there := job.Spec.Template.Annotations[key]; there {
			problem := reason.MisplacedTopology(key)
			return &problem
		}
	}
	for _, key := range []string{policies.AnnotationRequiredTopology, policies.AnnotationPreferredTopology} {
		level := job.Annotations[key]
		if level == "" {
			continue
		}
		if asked++; len(validation.IsQualifiedName(level)) > 0 {
			problem := reason.BadTopology(key, level)
			return &problem
		}
	}
	if asked < 2 {
		return nil
	}
	problem := reason.TwoTopologies(policies.AnnotationRequiredTopology, policies.AnnotationPreferredTopology)
	return &problem
}
