package author

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// overlaps: what a node has would count for two flavors.
func overlaps(parts *engine.Parts, catalog *policies.Catalog) []engine.Problem {
	var found []engine.Problem
	names := slices.Sorted(maps.Keys(catalog.Flavors))
	for i, b := range names {
		for _, a := range names[:i] {
			if overlap(catalog.Flavors[a], catalog.Flavors[b]) {
				found = append(found, parts.InData(LintOverlap,
					fmt.Sprintf("a node can be of the flavor %s, too, and then counts for both", a),
					"a label in nodeLabels of both that tells them apart, or a taint", "flavors", b))
				break // one is enough to see it
			}
		}
	}
	return found
}

func overlap(a, b policies.Flavor) bool {
	for key, value := range a.NodeLabels {
		if other, both := b.NodeLabels[key]; both && other != value {
			return false
		}
	}
	return !keepsOut(a, b) && !keepsOut(b, a)
}

// keepsOut says whether the nodes of a repel the pods of b.
func keepsOut(a, b policies.Flavor) bool {
	return slices.ContainsFunc(a.Taints, func(taint policies.Taint) bool {
		return taint.Effect != "PreferNoSchedule" && !slices.Contains(b.Taints, taint) &&
			!slices.ContainsFunc(b.Tolerations, func(t policies.Toleration) bool { return tolerates(t, taint) })
	})
}

func tolerates(t policies.Toleration, taint policies.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == "Exists" || t.Value == taint.Value
}

// Node is as much of a machine as the lints look at.
type Node struct {
	Labels    map[string]string
	Resources []string // those of which it has some
}

// LintCluster compares a policy with the machines there are.
func LintCluster(bundle engine.Bundle, catalog *policies.Catalog, nodes []Node) ([]engine.Problem, error) {
	parts, err := engine.TakeApart(bundle)
	if err != nil {
		return nil, err
	}
	var found []engine.Problem
	has := map[string][]string{} // flavor → resources of its nodes
	for _, name := range slices.Sorted(maps.Keys(catalog.Flavors)) {
		flavor := catalog.Flavors[name]
		if flavor.Verify == policies.VerifyNone {
			continue
		}
		resources, count := onNodes(flavor, nodes)
		switch {
		case count == 0 && flavor.Elastic.Max > 0:
			continue // an autoscaler adds the first one
		case count == 0:
			found = append(found, parts.InData(LintNodes, fmt.Sprintf("none of the %d nodes has these labels", len(nodes)),
				"kubectl get nodes --show-labels; elastic: {max: N} if an autoscaler adds them", "flavors", name, "nodeLabels"))
			continue
		}
		has[name] = resources
	}
	for _, name := range slices.Sorted(maps.Keys(catalog.Queues)) {
		found = append(found, missingResources(parts, name, catalog, has)...)
	}
	found = append(found, missingSources(parts, catalog, nodes)...)
	parts.Quote(found)
	return found, nil
}

// missingSources is what is converted, or counts the devices of others, though no node has
// it: most likely a slip, which leaves what the nodes have as it is.
func missingSources(parts *engine.Parts, catalog *policies.Catalog, nodes []Node) []engine.Problem {
	all := map[string]bool{}
	for _, node := range nodes {
		for _, resource := range node.Resources {
			all[resource] = true
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	var found []engine.Problem
	try := "one of " + strings.Join(slices.Sorted(maps.Keys(all)), ", ")
	for _, name := range slices.Sorted(maps.Keys(catalog.Resources.Conversions)) {
		if !all[name] {
			found = append(found, parts.InData(LintResource, "no node has this resource", try, "resources", "conversions", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(catalog.Resources.PerDevice)) {
		if counter := catalog.Resources.PerDevice[name]; !all[counter] {
			found = append(found, parts.InData(LintResource, "no node has "+counter, try, "resources", "perDevice", name))
		}
	}
	return found
}

// onNodes are the resources of a flavor's nodes, and how many those are.
func onNodes(flavor policies.Flavor, nodes []Node) (resources []string, count int) {
	for _, node := range nodes {
		matches := true
		for key, value := range flavor.NodeLabels {
			if got, there := node.Labels[key]; !there || got != value {
				matches = false
			}
		}
		if matches {
			count++
			resources = append(resources, node.Resources...)
		}
	}
	slices.Sort(resources)
	return slices.Compact(resources), count
}

func missingResources(parts *engine.Parts, name string, catalog *policies.Catalog, has map[string][]string) []engine.Problem {
	queue := catalog.Queues[name]
	var found []engine.Problem
	for _, flavor := range slices.Sorted(maps.Keys(queue.Quota)) {
		there, known := has[flavor]
		for _, resource := range slices.Sorted(maps.Keys(queue.Quota[flavor])) {
			if !known || queue.Quota[flavor][resource].Nominal == 0 || slices.ContainsFunc(there, func(name string) bool {
				_, charged := catalog.Resources.Conversions[name][resource]
				return charged || name == resource
			}) {
				continue
			}
			found = append(found, parts.InData(LintResource, fmt.Sprintf("no node of the flavor %s has this resource", flavor),
				"one of "+strings.Join(there, ", "), "queues", name, "quota", flavor, resource))
		}
	}
	return found
}
