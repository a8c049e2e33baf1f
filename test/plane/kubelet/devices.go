package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DeviceDriver is the driver of Devices, and the name of the class of its whole
// cards; ClassMIG is the class of their parts.
const (
	DeviceDriver = "gpu.nvidia.com"
	ClassGPU     = DeviceDriver
	ClassMIG     = "mig.nvidia.com"
)

// Devices are what a DRA driver on a node announces, as the pool of the node's
// name: whole cards gpu-0, gpu-1, …, and beside them what each can be cut into.
type Devices struct {
	Cards  int
	Memory string // of one card; default 80Gi
	// Parts that a card can be cut into instead. They and the card itself use up
	// the counters of the card; without parts there are no counters.
	Parts []Part
}

// Part is a MIG profile: how many places a card has for it, and what one uses
// up of the memory and the sevenSlices compute slices of the card.
type Part struct {
	Profile string // such as 3g.40gb
	Memory  string
	Slices  int64
	Places  int
}

// sevenSlices is how many compute slices a card has.
const sevenSlices = 7

const (
	counterMemory = "memory"
	counterSlices = "slices"
	attributeType = "type" // gpu or mig
)

// Limits of the API on one slice with counters.
const (
	maxCounterSets = 8
	maxDevices     = 64
)

// announced is the pool of a node as its driver makes it: the counter sets and
// the devices that use them up.
type announced struct {
	sets     []resourcev1.CounterSet
	devices  []resourcev1.Device
	lost     map[string]bool // of devices, by name: there no more
	perSlice int             // devices
}

// published is what the driver of a node wrote last: slices, in the order of
// announced.slices, that may not be all of them yet.
type published struct {
	names      []string
	generation int64
}

const firstGeneration = 1

// announce makes the pool; empty if there are no cards.
func (d Devices) announce() (announced, error) {
	all := announced{lost: map[string]bool{}, perSlice: maxDevices}
	card, err := resource.ParseQuantity(cmp.Or(d.Memory, "80Gi"))
	if err != nil {
		return all, fmt.Errorf("memory %q of a card: %w. Try: a quantity like 80Gi", d.Memory, err)
	}
	for i := range d.Cards {
		set := fmt.Sprintf("card-%d", i)
		var counters string
		if len(d.Parts) > 0 {
			counters = set
			all.sets = append(all.sets, resourcev1.CounterSet{Name: set, Counters: counted(card, sevenSlices)})
		}
		all.devices = append(all.devices, device(fmt.Sprintf("gpu-%d", i), "gpu", "", counters, card, sevenSlices))
		for n, part := range d.Parts {
			memory, err := resource.ParseQuantity(part.Memory)
			if err != nil {
				return all, fmt.Errorf("memory %q of part %s: %w. Try: a quantity like 40Gi", part.Memory, part.Profile, err)
			}
			for place := range part.Places {
				name := fmt.Sprintf("gpu-%d-mig-%d-%d", i, n, place)
				all.devices = append(all.devices, device(name, "mig", part.Profile, counters, memory, part.Slices))
			}
		}
	}
	return all, nil
}

func device(name, kind, profile, set string, memory resource.Quantity, cut int64) resourcev1.Device {
	made := resourcev1.Device{
		Name:       name,
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{attributeType: {StringValue: &kind}},
		Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{counterMemory: {Value: memory}},
	}
	if profile != "" {
		made.Attributes["profile"] = resourcev1.DeviceAttribute{StringValue: &profile}
	}
	if set != "" {
		made.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: set, Counters: counted(memory, cut)}}
	}
	return made
}

func counted(memory resource.Quantity, cut int64) map[string]resourcev1.Counter {
	return map[string]resourcev1.Counter{
		counterMemory: {Value: memory},
		counterSlices: {Value: *resource.NewQuantity(cut, resource.DecimalSI)},
	}
}

// slices of the pool, at one generation: counter sets and devices may not share
// a slice, and one takes only so many of either.
func (a announced) slices(node string, uid types.UID, generation int64) []*resourcev1.ResourceSlice {
	var all []*resourcev1.ResourceSlice
	add := func(spec resourcev1.ResourceSliceSpec) {
		spec.Driver, spec.NodeName = DeviceDriver, &node
		all = append(all, &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{
				GenerateName:    node + "-" + DeviceDriver + "-",
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: uid}},
			},
			Spec: spec,
		})
	}
	for sets := range slices.Chunk(a.sets, maxCounterSets) {
		add(resourcev1.ResourceSliceSpec{SharedCounters: sets})
	}
	for devices := range slices.Chunk(a.devices, max(1, a.perSlice)) {
		add(resourcev1.ResourceSliceSpec{Devices: slices.DeleteFunc(slices.Clone(devices), func(d resourcev1.Device) bool { return a.lost[d.Name] })})
	}
	for _, slice := range all {
		slice.Spec.Pool = resourcev1.ResourcePool{Name: node, Generation: generation, ResourceSliceCount: int64(len(all))}
	}
	return all
}

// announce writes slices of a node, and tells their names.
func (f *Fleet) announce(ctx context.Context, node string, all []*resourcev1.ResourceSlice) (names []string, err error) {
	for _, slice := range all {
		made, err := f.client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
		if err != nil {
			return names, fmt.Errorf("announcing the devices of node %s: %w", node, err)
		}
		names = append(names, made.Name)
	}
	return names, nil
}

// AddDeviceClasses makes the classes of whole cards and of parts. Pods that ask
// for the extended resource, if it is not empty, get a whole card where no
// device plugin serves it. Classes that exist stay as they are.
func (f *Fleet) AddDeviceClasses(ctx context.Context, extended string) error {
	class := func(name, kind string) *resourcev1.DeviceClass {
		expression := fmt.Sprintf("device.driver == %q && device.attributes[%q].%s == %q", DeviceDriver, DeviceDriver, attributeType, kind)
		return &resourcev1.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: resourcev1.DeviceClassSpec{
				Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}},
			},
		}
	}
	whole, parts := class(ClassGPU, "gpu"), class(ClassMIG, "mig")
	if extended != "" {
		whole.Spec.ExtendedResourceName = &extended
	}
	for _, c := range []*resourcev1.DeviceClass{whole, parts} {
		if _, err := f.client.ResourceV1().DeviceClasses().Create(ctx, c, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making device class %s: %w", c.Name, err)
		}
	}
	return nil
}

// claimNames are the claims of a pod, and whether all are known by now: those of
// templates are made after the pod, and that of extended resources when it is
// scheduled.
func claimNames(pod *corev1.Pod) (names []string, complete bool) {
	complete = true
	for _, c := range pod.Spec.ResourceClaims {
		if c.ResourceClaimName != nil {
			names = append(names, *c.ResourceClaimName)
			continue
		}
		i := slices.IndexFunc(pod.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == c.Name })
		if i < 0 {
			complete = false
		} else if made := pod.Status.ResourceClaimStatuses[i].ResourceClaimName; made != nil {
			names = append(names, *made)
		}
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		names = append(names, extended.ResourceClaimName)
	}
	return names, complete
}
