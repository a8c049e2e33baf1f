//go:build plane

package placement_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// devices of a cluster, and the claims that ask for them.
type devices struct {
	Classes   []*resourcev1.DeviceClass
	Slices    []*resourcev1.ResourceSlice
	Rules     []*resourcev1.DeviceTaintRule
	Templates []*resourcev1.ResourceClaimTemplate
	Claims    []*resourcev1.ResourceClaim // that pods share
}

const (
	cardDriver = "gpu.example.com"
	linkDriver = "nic.example.com" // of network cards beside them
	sameRoot   = resourcev1.FullyQualifiedName("example.com/root")
)

// drawDevices gives a drawn cluster devices of DRA drivers, and claims for them to
// some of its pods.
func (d dice) drawDevices(c *drawn) {
	w := &wishes{dice: d, seed: c.Seed}
	c.Devices = &w.devices
	w.classes()
	for i := range c.Nodes {
		w.node(&c.Nodes[i])
	}
	if d.chance(8) { // cards behind a network
		w.add(w.slice(nil, cardDriver, w.name("fabric"), w.cards(2)...))
	}
	if d.chance(20) {
		w.rule(c.Nodes)
	}
	w.Claims = append(w.Claims, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: w.spec()})
	for _, s := range c.Strangers {
		if d.chance(40) {
			w.claim(&s.Spec)
			s.Spec.NodeName = "" // claims are allocated by the scheduler
		}
	}
	var first *batchv1.Job
	for _, job := range c.Jobs {
		switch spec := &job.Spec.Template.Spec; {
		case job.Name == "twin":
			job.Spec = *first.Spec.DeepCopy()
		case d.chance(15):
			spec.Containers[0].Resources.Limits[w.extended()] = *resource.NewQuantity(int64(d.from(1, 2)), resource.DecimalSI)
		case d.chance(75):
			w.claim(spec)
			few := int32(d.from(1, 3)) // few devices are alike
			job.Spec.Parallelism, job.Spec.Completions = &few, &few
		}
		if first == nil {
			first = job
		}
	}
}

// wishes are devices that are being drawn. Names that are the cluster's have its seed
// in them, so that nobody takes them for those of the cluster before.
type wishes struct {
	dice
	devices
	seed uint64
}

func (w *wishes) name(of string) string { return fmt.Sprintf("c%d-%s", w.seed, of) }

// extended is the resource of cards, by a device plugin or by DRA.
func (w *wishes) extended() corev1.ResourceName {
	return corev1.ResourceName("example.com/" + w.name("card"))
}

func (w *wishes) classes() {
	class := func(name, expression string) *resourcev1.DeviceClass {
		made := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: w.name(name)}}
		made.Spec.Selectors = []resourcev1.DeviceSelector{selector(expression)}
		w.Classes = append(w.Classes, made)
		return made
	}
	gpu := class("gpu", `device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].type == "gpu"`)
	if extended := string(w.extended()); w.chance(50) {
		gpu.Spec.ExtendedResourceName = &extended
	}
	class("part", `device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].type == "part"`)
	class("any", `device.driver == "gpu.example.com"`)
	class("nic", `device.driver == "nic.example.com"`)
}

func selector(expression string) resourcev1.DeviceSelector {
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}
}

// node gives a node what a driver announces there, or a device plugin, or both.
func (w *wishes) node(m *machine) {
	if w.chance(30) {
		m.Extra = map[string]string{string(w.extended()): fmt.Sprint(w.from(1, 4))}
	}
	switch kind := w.IntN(100); {
	case kind < 40:
		w.publish(m.Name, cardDriver, w.cards(w.from(2, 6)))
	case kind < 65:
		w.cut(m.Name)
	case kind < 80:
		w.publish(m.Name, cardDriver, w.cards(w.from(2, 4)))
		w.publish(m.Name, linkDriver, w.links(w.from(2, 4)))
	}
}

func text(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: &s} }

func (w *wishes) device(name, kind string) resourcev1.Device {
	made := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"type": text(kind), "model": text(pick(w.dice, "a", "b")), resourcev1.QualifiedName(sameRoot): text(pick(w.dice, "x", "y")),
	}}
	if w.chance(10) {
		made.Taints = []resourcev1.DeviceTaint{{Key: "sick", Effect: pick(w.dice, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone)}}
	}
	return made
}

func (w *wishes) cards(n int) (list []resourcev1.Device) {
	for i := range n {
		list = append(list, w.device(fmt.Sprint("gpu-", i), "gpu"))
	}
	return list
}

func (w *wishes) links(n int) (list []resourcev1.Device) {
	for i := range n {
		list = append(list, w.device(fmt.Sprint("nic-", i), "nic"))
	}
	return list
}

// cut is cards that are given as a whole or in parts, of which there are more places
// than memory.
func (w *wishes) cut(node string) {
	var sets []resourcev1.CounterSet
	var list []resourcev1.Device
	consuming := func(name, kind, set string, memory int64) {
		made := w.device(name, kind)
		made.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: set, Counters: memoryOf(memory)}}
		list = append(list, made)
	}
	for i := range w.from(1, 2) {
		set := fmt.Sprint("card-", i)
		sets = append(sets, resourcev1.CounterSet{Name: set, Counters: memoryOf(40)})
		consuming(fmt.Sprint("gpu-", i), "gpu", set, 40)
		for j := range 3 {
			consuming(fmt.Sprintf("half-%d-%d", i, j), "part", set, 20)
		}
		for j := range 2 {
			consuming(fmt.Sprintf("quarter-%d-%d", i, j), "part", set, 10)
		}
	}
	offer, give := w.slice(&node, cardDriver, node), w.slice(&node, cardDriver, node, list...)
	offer.Spec.SharedCounters = sets
	w.add(offer, give)
}

func memoryOf(n int64) map[string]resourcev1.Counter {
	return map[string]resourcev1.Counter{"memory": {Value: *resource.NewQuantity(n, resource.DecimalSI)}}
}

// publish announces the devices of a node in one slice or two, or not all of them.
func (w *wishes) publish(node, driver string, list []resourcev1.Device) {
	if half := len(list) / 2; half > 0 && w.chance(30) {
		first, second := w.slice(&node, driver, node, list[:half]...), w.slice(&node, driver, node, list[half:]...)
		w.add(first, second)
		if w.chance(25) { // the second is not there yet
			w.Slices = w.Slices[:len(w.Slices)-1]
		}
		return
	}
	w.add(w.slice(&node, driver, node, list...))
}

// slice of a node, or of all of them.
func (w *wishes) slice(node *string, driver, pool string, list ...resourcev1.Device) *resourcev1.ResourceSlice {
	made := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: node, Pool: resourcev1.ResourcePool{Name: pool, Generation: 1}, Devices: list,
	}}
	if all := true; node == nil {
		made.Spec.AllNodes = &all
	}
	return made
}

// add makes a pool of slices.
func (w *wishes) add(pool ...*resourcev1.ResourceSlice) {
	for _, slice := range pool {
		slice.Name = w.name(fmt.Sprint("slice-", len(w.Slices)))
		slice.Spec.Pool.ResourceSliceCount = int64(len(pool))
		w.Slices = append(w.Slices, slice)
	}
}

func (w *wishes) rule(nodes []machine) {
	driver, node, device := cardDriver, nodes[w.IntN(len(nodes))].Name, "gpu-0"
	w.Rules = append(w.Rules, &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: w.name("rule")},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: &driver, Pool: &node, Device: &device},
			Taint:          resourcev1.DeviceTaint{Key: "sick", Effect: resourcev1.DeviceTaintEffectNoSchedule},
		},
	})
}

// claim gives a pod one claim or two, and mostly nothing of a device plugin.
func (w *wishes) claim(spec *corev1.PodSpec) {
	if w.chance(70) {
		spec.Containers[0].Resources.Limits = corev1.ResourceList{}
	}
	for i := range pick(w.dice, 1, 1, 1, 1, 2) {
		one := corev1.PodResourceClaim{Name: fmt.Sprint("claim-", i)}
		if shared := w.Claims[0].Name; i == 0 && w.chance(25) {
			one.ResourceClaimName = &shared
		} else {
			name := fmt.Sprint("template-", len(w.Templates))
			w.Templates = append(w.Templates, &resourcev1.ResourceClaimTemplate{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: w.spec()},
			})
			one.ResourceClaimTemplateName = &name
		}
		spec.ResourceClaims = append(spec.ResourceClaims, one)
		c := &spec.Containers[0].Resources
		c.Claims = append(c.Claims, corev1.ResourceClaim{Name: one.Name})
	}
}

// spec is of each way that claims have to say something.
func (w *wishes) spec() resourcev1.ResourceClaimSpec {
	of := func(requests ...resourcev1.DeviceRequest) resourcev1.ResourceClaimSpec {
		return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}}
	}
	with := func(spec resourcev1.ResourceClaimSpec, constraint resourcev1.DeviceConstraint) resourcev1.ResourceClaimSpec {
		spec.Devices.Constraints = []resourcev1.DeviceConstraint{constraint}
		return spec
	}
	root, model := sameRoot, resourcev1.FullyQualifiedName(cardDriver+"/model")
	cards := func(n int64) resourcev1.DeviceRequest { return w.exactly("cards", "gpu", n) }
	switch w.IntN(14) {
	case 0, 1, 2:
		return of(cards(int64(w.from(1, 3))))
	case 3:
		return of(w.selecting(cards(int64(w.from(1, 2))), `device.attributes["gpu.example.com"].model == "a"`))
	case 4, 5:
		return of(w.exactly("parts", "part", int64(w.from(1, 2))))
	case 6:
		return of(w.exactly("some", "any", int64(w.from(1, 2))))
	case 7:
		all := cards(0)
		all.Exactly.AllocationMode = resourcev1.DeviceAllocationModeAll
		return of(all)
	case 8:
		return of(resourcev1.DeviceRequest{Name: "first", FirstAvailable: []resourcev1.DeviceSubRequest{
			w.sub("big", "gpu", int64(w.from(1, 2))), w.sub("small", "part", 1),
		}})
	case 9:
		return of(cards(1), w.exactly("link", "nic", 1))
	case 10:
		return with(of(cards(1), w.exactly("link", "nic", 1)), resourcev1.DeviceConstraint{MatchAttribute: &root})
	case 11:
		return with(of(cards(2)), pick(w.dice, resourcev1.DeviceConstraint{DistinctAttribute: &model}, resourcev1.DeviceConstraint{MatchAttribute: &model}))
	case 12:
		yes, looks := true, cards(1)
		looks.Exactly.AdminAccess = &yes
		return of(looks)
	}
	tolerant := cards(1)
	tolerant.Exactly.Tolerations = []resourcev1.DeviceToleration{{Key: "sick", Operator: resourcev1.DeviceTolerationOpExists}}
	return of(tolerant)
}

func (w *wishes) exactly(name, class string, n int64) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: name, Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: w.name(class), AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n,
	}}
}

func (w *wishes) sub(name, class string, n int64) resourcev1.DeviceSubRequest {
	return resourcev1.DeviceSubRequest{
		Name: name, DeviceClassName: w.name(class), AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n,
	}
}

func (w *wishes) selecting(r resourcev1.DeviceRequest, expression string) resourcev1.DeviceRequest {
	r.Exactly.Selectors = []resourcev1.DeviceSelector{selector(expression)}
	return r
}
