package intake

import (
	"slices"
	"strings"

	"github.com/holdshort/holdshort/policies"
)

// The kinds of keys.
const (
	Label      = "label"
	Annotation = "annotation"
)

// Known is a key of the project that a user sets, and where.
type Known struct{ Kind, Key string }

// Misspelt tells whether a label or annotation of a Job is meant for holdshort and is
// none that it knows, and which ones may have been meant: the nearest, or else all.
func Misspelt(kind, key string) (meant []Known, misspelt bool) {
	place, name, found := strings.Cut(key, "/")
	ours, _, _ := strings.Cut(policies.Prefix, "/")
	if !found || !strings.HasPrefix(place, "holdshort") && !Alike(place, ours) {
		return nil, false
	}
	for _, k := range UserLabels() {
		meant = append(meant, Known{Label, k})
	}
	for _, k := range UserAnnotations() {
		meant = append(meant, Known{Annotation, k})
	}
	if place == ours && (slices.Contains(meant, Known{kind, key}) || slices.Contains(LedgerKeys(), key)) {
		return nil, false
	}
	if place != ours && !slices.ContainsFunc(meant, func(k Known) bool { return k.Key == policies.Prefix+name }) {
		return nil, false // of somebody with a similar name
	}
	if k, found := nearest(name, meant); found {
		return []Known{k}, true
	}
	return meant, true
}

func nearest(name string, all []Known) (Known, bool) {
	for most := range typosMax + 1 {
		for _, k := range all {
			if typos(name, strings.TrimPrefix(k.Key, policies.Prefix), most) {
				return k, true
			}
		}
	}
	const enough = 4 // letters of a name that say which one it is
	for _, k := range all {
		if len(name) >= enough && strings.Contains(strings.TrimPrefix(k.Key, policies.Prefix), name) {
			return k, true
		}
	}
	return Known{}, false
}

// typosMax is how many letters may be wrong of a key that is recognized all the same.
const typosMax = 2

// Alike tells whether one key becomes the other with a few letters left out, put in or
// exchanged.
func Alike(a, b string) bool { return typos(a, b, typosMax) }

func typos(a, b string, left int) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case a == b:
		return true
	case left == 0 || a == "" && len(b) > left || b == "" && len(a) > left:
		return false
	case a == "" || b == "":
		return true
	}
	return typos(a[1:], b[1:], left-1) || typos(a[1:], b, left-1) || typos(a, b[1:], left-1)
}
