package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/policies"
)

// Tried is a digest of what a Job runs, as its user wrote it, and in which queue:
// who changes that has another Job, to which it says nothing that the one before
// failed. It is the same whatever the ledger writes on the Job.
func Tried(job *batchv1.Job) string {
	written := AsWritten(job)
	template := written.Spec.Template
	ours := func(key string) bool { return strings.HasPrefix(key, policies.Prefix) }
	template.Labels, template.Annotations = without(template.Labels, ours), without(template.Annotations, ours)
	text, err := json.Marshal([]any{job.Labels[policies.LabelQueue], written.Spec.Parallelism, written.Spec.Completions, template})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
