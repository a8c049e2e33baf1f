package demand

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Claims is the claims that are made for one pod, as ResourceQuotas count them: how many,
// and how many devices of which classes they may get at most. Empty: none. Comparable.
type Claims string

// NewClaims is so many claims, and the devices of each class.
func NewClaims(objects int64, devices map[string]int64) Claims {
	if objects == 0 {
		return ""
	}
	text := strconv.AppendInt(nil, objects, 10)
	for _, class := range slices.Sorted(maps.Keys(devices)) {
		text = append(append(append(text, ','), class...), '=') // classes have names as hosts do
		text = strconv.AppendInt(text, devices[class], 10)
	}
	return Claims(text)
}

// Objects is how many claims it is.
func (c Claims) Objects() int64 {
	objects, _, _ := strings.Cut(string(c), ",")
	n, _ := strconv.ParseInt(objects, 10, 64)
	return n
}

// Devices of a class.
func (c Claims) Devices(class string) int64 {
	for part := range strings.SplitSeq(string(c), ",") {
		if of, count, found := strings.Cut(part, "="); found && of == class {
			n, _ := strconv.ParseInt(count, 10, 64)
			return n
		}
	}
	return 0
}
