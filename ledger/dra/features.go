package dra

import (
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// features are those of the scheduler as it comes: all that is beta. With another
// set another of the allocator's implementations would answer. There is nothing to
// find out about the cluster: a server that lacks one of them drops its fields.
func features() structured.Features {
	return structured.Features{
		AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true,
		DeviceBindingAndStatus: true, ConsumableCapacity: true, FractionalCapacityRange: true,
	}
}

// keptExpressions is how many compiled expressions are kept. A cluster has a few
// dozen; compiling one again costs a millisecond.
const keptExpressions = 1000

func newExpressions() *cel.Cache {
	return cel.NewCache(keptExpressions, cel.Features{EnableConsumableCapacity: true})
}
