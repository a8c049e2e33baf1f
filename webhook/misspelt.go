package webhook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdshort/holdshort/ledger/intake"
)

// misspeltMax is of how many keys a request is warned.
const misspeltMax = 3

// keyed is where labels and annotations stand in the list of fields that a request set.
type keyed struct {
	Labels      map[string]json.RawMessage `json:"f:labels"`
	Annotations map[string]json.RawMessage `json:"f:annotations"`
}

type fields struct {
	Metadata keyed `json:"f:metadata"`
	Spec     struct {
		Template struct {
			Metadata keyed `json:"f:metadata"`
		} `json:"f:template"`
	} `json:"f:spec"`
}

// misspelt warns of keys that look like ours and are none: what they were to say is not
// gone by. Where a mutating policy is served it has taken them out of the object before;
// which ones the request set is told by its managed fields.
func misspelt(job *batchv1.Job) []string {
	const onJob, onPods = "metadata", "spec.template.metadata"
	set := map[spot][]intake.Known{}
	noteAll(set, onJob, job.Labels, job.Annotations)
	noteAll(set, onPods, job.Spec.Template.Labels, job.Spec.Template.Annotations)
	for i := range job.ManagedFields {
		var f fields
		if entry := job.ManagedFields[i].FieldsV1; entry != nil && json.Unmarshal(entry.GetRawBytes(), &f) == nil {
			noteAll(set, onJob, f.Metadata.Labels, f.Metadata.Annotations)
			noteAll(set, onPods, f.Spec.Template.Metadata.Labels, f.Spec.Template.Metadata.Annotations)
		}
	}
	var warnings []string
	for _, at := range slices.SortedFunc(maps.Keys(set), compareSpots) {
		if len(warnings) < misspeltMax {
			warnings = append(warnings, warning(fmt.Sprintf("%s.%ss[%s]: holdshort has no such %s and does not go by it. %s",
				at.path, at.kind, at.key, at.kind, orWhich(set[at]))))
		}
	}
	return warnings
}

// spot is where a key stands.
type spot struct{ path, kind, key string }

func compareSpots(a, b spot) int {
	return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key))
}

// noteAll notes the keys that are misspelt, and what was meant.
func noteAll[V any](set map[spot][]intake.Known, path string, labels, annotations map[string]V) {
	for kind, keys := range map[string]map[string]V{intake.Label: labels, intake.Annotation: annotations} {
		for key := range keys {
			key = strings.TrimPrefix(key, "f:")
			if meant, odd := intake.Misspelt(kind, key); odd {
				set[spot{path, kind, key}] = meant
			}
		}
	}
}

// orWhich asks for the one that was meant, or says which ones there are.
func orWhich(meant []intake.Known) string {
	if len(meant) == 1 {
		return fmt.Sprintf("Did you mean the %s %s?", meant[0].Kind, meant[0].Key)
	}
	var names []string
	for _, k := range meant {
		_, name, _ := strings.Cut(k.Key, "/")
		names = append(names, name)
	}
	return "It has " + strings.Join(names, ", ")
}
