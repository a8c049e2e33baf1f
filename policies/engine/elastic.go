package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdshort/holdshort/policies"
)

// elastic checks what an autoscaler may add of a flavor.
func (v *validator) elastic(path fieldPath, f policies.Flavor) {
	e := f.Elastic
	v.atLeast(path.with("max"), e.Max, 0)
	if e.Max > policies.MostMachines && e.Max <= mostCount {
		v.fail(path.with("max"), fmt.Sprintf("at most %d", policies.MostMachines), "%d machines are more than are counted", e.Max)
	}
	v.seconds(path, "timeoutSeconds", e.TimeoutSeconds)
	for _, name := range slices.Sorted(maps.Keys(e.Node)) {
		v.resourceName(path.with("node").with(name), name)
	}
	if e.Max == 0 {
		return
	}
	switch {
	case e.Node == nil:
		v.warn(path.with("node"), "{nvidia.com/gpu: 8, cpu: 96, memory: 1Ti, pods: 110}",
			"without it, no machine is asked for as long as none is there: nobody knows what it would have")
	case len(e.Node) == 0:
		v.fail(path.with("node"), "{nvidia.com/gpu: 8, cpu: 96, memory: 1Ti, pods: 110}", "a machine that has nothing is of no use")
	}
	if f.Verify == policies.VerifyNone {
		v.warn(path, "leave out verify: none", "max says nothing where quota alone decides")
	}
	if len(f.NodeLabels) == 0 {
		v.warn(path, "nodeLabels", "without labels of its own, every node of the cluster is one of them")
	}
}

// elasticCount bounds how many flavors can be elastic.
func (v *validator) elasticCount() {
	if n := len(v.catalog.ElasticFlavors()); n > policies.MostElastic {
		v.fail(fieldPath{"flavors"}, "fewer", "%d flavors are elastic, more than %d", n, policies.MostElastic)
	}
}
