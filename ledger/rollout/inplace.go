package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/holdshort/holdshort/policies/engine"
)

// The label of what Helm made, and its value.
const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedByHelm  = "Helm"
)

// doubter is a source that may doubt that what it says is meant.
type doubter interface {
	Doubts(context.Context) ([]engine.Problem, error)
}

// Doubts are the files of Helm's ConfigMaps that Helm does not own: no upgrade takes
// them back, and who reads the values only does not know of them.
func (c ConfigMaps) Doubts(ctx context.Context) ([]engine.Problem, error) {
	found, _, err := c.found(ctx)
	if err != nil {
		return nil, err
	}
	var doubts []engine.Problem
	for _, name := range slices.Sorted(maps.Keys(found)) {
		strays, err := inPlace(found[name])
		if err != nil {
			return nil, fmt.Errorf("reading who wrote ConfigMap %s/%s: %w", c.Namespace, name, err)
		}
		for _, key := range slices.Sorted(maps.Keys(strays)) {
			doubts = append(doubts, engine.Problem{
				File:    name + "/" + key,
				Message: strings.Join(strays[key], ", ") + " wrote it in place, so it is none of helm's: an upgrade leaves it in force, or says that there is a conflict",
				Try: fmt.Sprintf(`kubectl -n %s patch configmap %s --type=merge -p '{"data":{%q:null}}' removes a file that was added; helm upgrade --force-conflicts takes a change back`,
					c.Namespace, name, key),
			})
		}
	}
	return doubts, nil
}

// inPlace is the keys of data that belong to others than whoever made the ConfigMap
// one of Helm's, and to whom. Tools that bring a chart in without helm call
// themselves by another name, and are no less the owner.
func inPlace(of *corev1.ConfigMap) (map[string][]string, error) {
	if of.Labels[managedByLabel] != managedByHelm {
		return nil, nil
	}
	owners, others := map[string]bool{}, map[string][]string{}
	for _, entry := range of.ManagedFields {
		if entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Data     map[string]any `json:"f:data"`
			Metadata struct {
				Labels map[string]any `json:"f:labels"`
			} `json:"f:metadata"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return nil, fmt.Errorf("what %s wrote: %w", entry.Manager, err)
		}
		_, helms := fields.Metadata.Labels["f:"+managedByLabel]
		for field := range fields.Data {
			key, is := strings.CutPrefix(field, "f:")
			switch {
			case !is: // the object itself
			case helms:
				owners[key] = true
			default:
				others[key] = append(others[key], entry.Manager)
			}
		}
	}
	maps.DeleteFunc(others, func(key string, _ []string) bool { return owners[key] })
	for key := range others {
		slices.Sort(others[key])
		others[key] = slices.Compact(others[key])
	}
	return others, nil
}

// doubt shows what the source doubts, with the revision that has its content: the
// candidate if there is one, else the one in force.
func (r *Rollout) doubt(ctx context.Context) {
	active, of := r.Engine.Active(), r.status.want.Active
	if active == nil || of == nil {
		return
	}
	var doubts []engine.Problem
	if source, ok := r.Source.(doubter); ok {
		var err error
		if doubts, err = source.Doubts(ctx); err != nil {
			r.Log.Error(err, "who wrote the policy is not known")
			return
		}
	}
	warnings := active.Warnings()
	if candidate := r.status.want.Candidate; candidate != nil {
		if warned := listed(doubts); !equality.Semantic.DeepEqual(candidate.Warnings, warned) {
			candidate.Warnings, r.status.dirty = warned, true
		}
	} else {
		warnings = slices.Concat(warnings, doubts)
	}
	if warned := listed(warnings); !equality.Semantic.DeepEqual(of.Warnings, warned) {
		of.Warnings, r.status.dirty = warned, true
	}
}
