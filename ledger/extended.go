package ledger

import (
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/supply"
)

// extended is the class of which nodes give devices for a resource, and the row in which
// these are counted.
type extended struct{ class, row string }

// byName is the classes, and which of them gives devices for what resource.
func (d *devices) byName() intake.Classes {
	by := make(map[string]string, len(d.extended))
	for resource, of := range d.extended {
		by[resource] = of.class
	}
	return intake.Classes{All: d.classes, By: by}
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
	for resource, class := range intake.ExtendedBy(d.classes, l.DRA.Implied) {
		row := d.state.WantAny(class)
		d.extended[resource], rows[resource] = extended{class, row}, row
	}
	for _, old := range was {
		d.state.Drop(old.row)
	}
	l.book.SetExtended(rows)
}
