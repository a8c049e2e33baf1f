package dra

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const driver = "gpu.example.com"

func text(s string) resourceapi.DeviceAttribute { return resourceapi.DeviceAttribute{StringValue: &s} }

func card(name, kind string) resourceapi.Device {
	return resourceapi.Device{Name: name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"type": text(kind)}}
}

// cut is a device that takes so much of a card's memory.
func cut(name, kind, counterSet string, memory int64) resourceapi.Device {
	d := card(name, kind)
	d.ConsumesCounters = []resourceapi.DeviceCounterConsumption{{
		CounterSet: counterSet,
		Counters:   map[string]resourceapi.Counter{"memory": {Value: *resource.NewQuantity(memory, resource.DecimalSI)}},
	}}
	return d
}

func sliceOf(name, node, pool string, generation, count int64, devices ...resourceapi.Device) *resourceapi.ResourceSlice {
	s := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.Driver = driver
	s.Spec.Pool = resourceapi.ResourcePool{Name: pool, Generation: generation, ResourceSliceCount: count}
	if node != "" {
		s.Spec.NodeName = &node
	}
	s.Spec.Devices = devices
	return s
}

func counters(name, node, pool string, generation, count int64, sets map[string]int64, order ...string) *resourceapi.ResourceSlice {
	s := sliceOf(name, node, pool, generation, count)
	for _, set := range order {
		s.Spec.SharedCounters = append(s.Spec.SharedCounters, resourceapi.CounterSet{
			Name:     set,
			Counters: map[string]resourceapi.Counter{"memory": {Value: *resource.NewQuantity(sets[set], resource.DecimalSI)}},
		})
	}
	return s
}

func class(name, expression string) *resourceapi.DeviceClass {
	c := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if expression != "" {
		c.Spec.Selectors = []resourceapi.DeviceSelector{selector(expression)}
	}
	return c
}

func selector(expression string) resourceapi.DeviceSelector {
	return resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}
}

func sampleClasses() classes {
	list := classes{}
	for _, kind := range []string{"gpu", "mig"} {
		list[kind] = class(kind, `device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].type == "`+kind+`"`)
	}
	return list
}

func sampleSlices() []*resourceapi.ResourceSlice {
	return []*resourceapi.ResourceSlice{
		sliceOf("node-2-gpus", "node-2", "node-2", 1, 1, card("gpu-0", "gpu"), card("gpu-1", "gpu"), card("gpu-2", "gpu"), card("gpu-3", "gpu")),
		counters("node-3-counters", "node-3", "node-3", 1, 2, map[string]int64{"card-0": 40}, "card-0"),
		sliceOf("node-3-devices", "node-3", "node-3", 1, 2,
			cut("whole-0", "gpu", "card-0", 40), cut("half-0", "mig", "card-0", 20), cut("half-1", "mig", "card-0", 20), cut("half-2", "mig", "card-0", 20)),
	}
}

func sampleAllocator() allocator {
	return allocator{expressions: newExpressions(), classes: sampleClasses()}
}

func sampleSite(node string) site {
	return site{node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, slices: sampleSlices(), state: nothingInUse()}
}

func claimOf(requests ...resourceapi.DeviceRequest) resourceapi.ResourceClaimSpec {
	return resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: requests}}
}

func exactly(class string, count int64) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: "a", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
	}}
}

func all(class string) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: "a", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeAll,
	}}
}

func named(name string, r resourceapi.DeviceRequest) resourceapi.DeviceRequest {
	r.Name = name
	return r
}

func admin(r resourceapi.DeviceRequest) resourceapi.DeviceRequest {
	yes := true
	r.Exactly.AdminAccess = &yes
	return r
}

func selecting(r resourceapi.DeviceRequest, expression string) resourceapi.DeviceRequest {
	r.Exactly.Selectors = append(r.Exactly.Selectors, selector(expression))
	return r
}

func firstOf(subs ...resourceapi.DeviceSubRequest) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: "a", FirstAvailable: subs}
}

func sub(name, class string, count int64) resourceapi.DeviceSubRequest {
	return resourceapi.DeviceSubRequest{
		Name: name, DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
	}
}

func claimsOf(specs ...resourceapi.ResourceClaimSpec) []*resourceapi.ResourceClaim {
	list := make([]*resourceapi.ResourceClaim, 0, len(specs))
	for i := range specs {
		list = append(list, &resourceapi.ResourceClaim{Spec: specs[i]})
	}
	return list
}
