package app

import (
	"testing"

	"k8s.io/apimachinery/pkg/version"
)

func TestWhichServersFillInPodLevelResourcesEarly(t *testing.T) {
	cases := []struct {
		name string
		info version.Info
		want bool
	}{
		{"1.37 is late", version.Info{Major: "1", Minor: "37"}, false},
		{"1.36 is early", version.Info{Major: "1", Minor: "36"}, true},
		{"a vendor's plus does not matter", version.Info{Major: "1", Minor: "36+"}, true},
		{"1.37 that emulates 1.35 is early", version.Info{Major: "1", Minor: "37", EmulationMajor: "1", EmulationMinor: "35"}, true},
		{"one that does not say is late, as the newest", version.Info{}, false},
	}
	for _, c := range cases {
		if got := podLevelEarly(c.info); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}
