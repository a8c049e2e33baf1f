package dra

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

func TestMostIsWhatTheBestNodeHasInUseOrNot(t *testing.T) {
	s := newSample()
	s.SetClaim(allocated("c", "node-2", "gpu-1"))
	asks := func(class, expression string) int64 {
		kind := &resourceapi.DeviceSubRequest{DeviceClassName: class}
		if expression != "" {
			kind.Selectors = []resourceapi.DeviceSelector{selector(expression)}
		}
		return s.Most(kind)
	}
	for _, c := range []struct {
		class, expression string
		want              int64
	}{
		{"gpu", "", 4},
		{"mig", "", 3}, // places: how many of them at once is not looked at
		{"gpu", `device.driver == "none"`, 0},
		{"none", "", 0},
	} {
		if got := asks(c.class, c.expression); got != c.want {
			t.Errorf("most of class %q with %q: %d, want %d", c.class, c.expression, got, c.want)
		}
	}
	s.DeleteNode("node-2")
	if got := asks("gpu", ""); got != 1 {
		t.Errorf("without the best node: %d, want 1", got)
	}
}
