package dra

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// most is how many times one kit is allocated on a node at the most: some never
// run out (admin access, devices without an end). No node takes more pods than that.
const most = 512

// classes are the DeviceClasses by name, as the allocator wants to be given them.
type classes map[string]*resourceapi.DeviceClass

// List is in the order of names.
func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	names := make([]string, 0, len(c))
	for name := range c {
		names = append(names, name)
	}
	slices.Sort(names)
	list := make([]*resourceapi.DeviceClass, 0, len(c))
	for _, name := range names {
		list = append(list, c[name])
	}
	return list, nil
}

// Get fails for a class that is not there, and the scheduler gives the pod up then.
func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class := c[name]; class != nil {
		return class, nil
	}
	return nil, fmt.Errorf("there is no DeviceClass %q", name)
}

// site is a node with the slices of the pools that reach it, and what is in use of
// them.
type site struct {
	node   *corev1.Node
	slices []*resourceapi.ResourceSlice
	state  structured.AllocatedState
}

func nothingInUse() structured.AllocatedState {
	return structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
}

// allocator is the scheduler's, with the objects that it looks things up in.
type allocator struct {
	expressions *cel.Cache
	classes     classes
}

// slots is how many pods with these claims the node can take, one after the other, up
// to a limit. An error means that the scheduler would give such a pod up on all nodes.
func (a allocator) slots(at site, claims []*resourceapi.ResourceClaim, limit int64) (int64, error) {
	for n := range limit {
		results, err := a.allocate(at, claims)
		if err != nil || results == nil {
			return n, err
		}
		if !take(&at.state, results) {
			break
		}
	}
	return limit, nil
}

// allocate asks for what one pod would be given here: nil if it can't be, or if it
// takes too long to find out.
func (a allocator) allocate(at site, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	ctx := newBudget()
	search, err := structured.NewAllocator(ctx, features(), at.state, a.classes, at.slices, a.expressions)
	if err != nil {
		return nil, fmt.Errorf("look for devices: %w", err)
	}
	results, err := search.Allocate(ctx, at.node, claims)
	switch {
	case err == nil && len(results) == len(claims):
		return results, nil
	case err == nil, ctx.spent(), errors.Is(err, structured.ErrFailedAllocationOnNode):
		return nil, nil
	}
	return nil, fmt.Errorf("look for devices: %w", err)
}

// take adds results to what is in use, and tells whether that made a difference.
func take(state *structured.AllocatedState, results []resourceapi.AllocationResult) bool {
	changed := false
	for i := range results {
		for j := range results[i].Devices.Results {
			changed = takeOne(state, &results[i].Devices.Results[j]) || changed
		}
	}
	return changed
}

// takeOne reads a result as the scheduler does: with admin access a device is not in
// use by it; one with a share is in use in part; all others are as a whole.
func takeOne(state *structured.AllocatedState, result *resourceapi.DeviceRequestAllocationResult) bool {
	if result.AdminAccess != nil && *result.AdminAccess {
		return false
	}
	id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
	if result.ShareID == nil {
		state.AllocatedDevices.Insert(id)
		return true
	}
	state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
	state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
	return len(result.ConsumedCapacity) > 0
}
