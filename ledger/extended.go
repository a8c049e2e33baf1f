package ledger

import (
	"cmp"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/holdshort/holdshort/ledger/supply"
)

// extended is the class of which nodes give devices for a resource, and the row in which
// these are counted.
type extended struct{ class, row string }

// extendedBy is the class for each resource that some class gives devices for. Of several
// the newest does, then the first by name, as the scheduler has it.
func extendedBy(classes map[string]*resourceapi.DeviceClass, implied bool) map[string]string {
	by := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		class := classes[name]
		if implied {
			by[resourceapi.ResourceDeviceClassPrefix+name] = name
		}
		resource := class.Spec.ExtendedResourceName
		if resource == nil || *resource == "" {
			continue
		}
		other := classes[by[*resource]]
		if other == nil || cmp.Compare(class.CreationTimestamp.UnixNano(), other.CreationTimestamp.UnixNano()) > 0 {
			by[*resource] = name
		}
	}
	return by
}

// picture is what is counted of devices, and the pods that have some, for use elsewhere.
func (d *devices) picture() (supply.Counted, map[string]*supply.Pod) {
	counted := supply.Counted{Devices: d.state.Rows(), Costs: d.state.Told(), Extended: map[string]string{}}
	for resource, by := range d.extended {
		counted.Extended[resource] = by.row
	}
	pods := make(map[string]*supply.Pod, len(d.pods))
	for uid, pod := range d.pods {
		pods[string(uid)] = pod.read
	}
	return counted, pods
}

// extend has devices counted that nodes give for extended resources: any of a class.
func (l *Loop) extend() {
	d := &l.devices
	was, rows := d.extended, map[string]string{}
	d.extended = map[string]extended{}
	for resource, class := range extendedBy(d.classes, l.DRA.Implied) {
		row, _ := d.state.Want([]resourceapi.ResourceClaimSpec{{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{
			Name: "any", Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
			},
		}}}}})
		d.extended[resource], rows[resource] = extended{class, row}, row
	}
	for _, old := range was {
		d.state.Drop(old.row)
	}
	l.book.SetExtended(rows)
}
