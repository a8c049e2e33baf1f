package dra

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

// digest stands for a device as expressions see it.
type digest [sha256.Size]byte

func digestOf(driver string, spec *resourceapi.Device) digest {
	var room [1024]byte
	b := appendText(room[:0], driver)
	b = strconv.AppendBool(b, deref(spec.AllowMultipleAllocations))
	for _, name := range slices.Sorted(maps.Keys(spec.Attributes)) {
		value := spec.Attributes[name]
		b = appendAttribute(appendText(b, string(name)), &value)
	}
	b = append(b, 'c')
	for _, name := range slices.Sorted(maps.Keys(spec.Capacity)) {
		value := spec.Capacity[name]
		b = appendText(appendText(b, string(name)), value.Value.String())
		if value.RequestPolicy != nil {
			b = appendJSON(b, value.RequestPolicy)
		}
	}
	return sha256.Sum256(b)
}

// appendText writes the length first, so that no two lists of texts read alike.
func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendJSON(b []byte, value any) []byte {
	text, err := json.Marshal(value)
	if err != nil { // plain data: it can always be written
		panic("write what a device says: " + err.Error())
	}
	return appendText(b, string(text))
}

func appendAttribute(b []byte, a *resourceapi.DeviceAttribute) []byte {
	switch {
	case a.StringValue != nil:
		return appendText(append(b, 's'), *a.StringValue)
	case a.IntValue != nil:
		return binary.AppendVarint(append(b, 'i'), *a.IntValue)
	case a.BoolValue != nil:
		return strconv.AppendBool(append(b, 'b'), *a.BoolValue)
	case a.VersionValue != nil:
		return appendText(append(b, 'v'), *a.VersionValue)
	}
	return appendJSON(append(b, 'l'), a)
}

func encodeCounters(b []byte, counters map[string]resourceapi.Counter) []byte {
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		counter := counters[name]
		b = appendText(appendText(b, name), counter.Value.String())
	}
	return append(b, 0)
}

func encodeSets(sets []resourceapi.CounterSet) string {
	var b []byte
	for i := range sets {
		b = encodeCounters(appendText(b, sets[i].Name), sets[i].Counters)
	}
	return string(b)
}

func encodeConsumption(list []resourceapi.DeviceCounterConsumption) string {
	var b []byte
	for i := range list {
		b = encodeCounters(appendText(b, list[i].CounterSet), list[i].Counters)
	}
	return string(b)
}

// consumable tells whether the counters that a device consumes are offered.
func consumable(spec *resourceapi.Device, offered map[string]map[string]bool) bool {
	for _, consumption := range spec.ConsumesCounters {
		set := offered[consumption.CounterSet]
		if set == nil {
			return false
		}
		for name := range consumption.Counters {
			if !set[name] {
				return false
			}
		}
	}
	return true
}

// attributeOf finds an attribute by its full name; those of the driver's own domain
// may be written without it.
func attributeOf(d *device, name resourceapi.FullyQualifiedName) (resourceapi.DeviceAttribute, bool) {
	if value, found := d.spec.Attributes[resourceapi.QualifiedName(name)]; found {
		return value, true
	}
	domain, own, _ := strings.Cut(string(name), "/")
	if domain != d.kind.seen.Driver {
		return resourceapi.DeviceAttribute{}, false
	}
	value, found := d.spec.Attributes[resourceapi.QualifiedName(own)]
	return value, found
}

// least is the first key in order.
func least[V any](m map[string]V) string { return slices.Min(slices.Collect(maps.Keys(m))) }
