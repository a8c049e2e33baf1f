package dra

import (
	"bytes"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Devices that differ by what an expression reads must not be taken for alike; those
// that differ by anything else should.
func TestWhatAnExpressionReads(t *testing.T) {
	const all = "all"
	cases := map[string]struct {
		expression string
		reads      string // of id, model, size and shared; or all
	}{
		"an attribute":                            {`device.attributes["gpu.example.com"].model == "a"`, "model"},
		"an attribute by its key":                 {`device.attributes["gpu.example.com"]["model"] == "a"`, "model"},
		"whether there is an attribute":           {`has(device.attributes["gpu.example.com"].model)`, "model"},
		"a capacity":                              {`device.capacity["gpu.example.com"].size.isGreaterThan(quantity("1"))`, "size"},
		"the driver alone":                        {`device.driver == "gpu.example.com"`, ""},
		"whether several may have it":             {`device.allowMultipleAllocations`, "shared"},
		"an attribute in a comprehension":         {`["a", "b"].exists(x, x == device.attributes["gpu.example.com"].model)`, "model"},
		"all attributes of a domain":              {`device.attributes["gpu.example.com"].exists(key, key == "id")`, all},
		"all attributes by another name":          {`cel.bind(mine, device.attributes["gpu.example.com"], mine.model == "a")`, all},
		"an attribute whose name is put together": {`device.attributes["gpu.example.com"]["mod" + "el"] == "a"`, all},
		"whether a name is among the attributes":  {`"id" in device.attributes["gpu.example.com"]`, all},
	}
	changes := map[string]func(*resourceapi.Device){
		"id":    func(d *resourceapi.Device) { d.Attributes["id"] = text("2") },
		"model": func(d *resourceapi.Device) { d.Attributes["model"] = text("b") },
		"size": func(d *resourceapi.Device) {
			d.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"size": {Value: resource.MustParse("2")}}
		},
		"shared": func(d *resourceapi.Device) { yes := true; d.AllowMultipleAllocations = &yes },
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := New()
			m := newMatcher(class("any", c.expression), &request{class: "any"}, s.expressions)
			if (m.reads == nil) != (c.reads == all) {
				t.Fatalf("known what it reads: %v", m.reads != nil)
			}
			if m.reads == nil {
				return
			}
			for what, change := range changes {
				one, other := card("x", "gpu"), card("x", "gpu")
				change(&other)
				a := m.reads.of(nil, &s.kindOf(driver, &one).seen)
				b := m.reads.of(nil, &s.kindOf(driver, &other).seen)
				// That several may have a device is always told apart: it is cheap.
				if differ := !bytes.Equal(a, b); differ != (what == c.reads || what == "shared") {
					t.Errorf("another %s makes a difference: %v", what, differ)
				}
			}
		})
	}
}
