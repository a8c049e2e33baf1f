package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/test/plane/cluster"
)

func TestNodesAreMadeFromFlags(t *testing.T) {
	cases := []struct {
		name  string
		nodes int
		gpus  string
		want  []cluster.NodeSpec
	}{
		{"one of three has GPUs", 3, "8@1", []cluster.NodeSpec{{Name: "node-1", GPUs: 8}, {Name: "node-2"}, {Name: "node-3"}}},
		{"two kinds", 3, "8@1,4@2:NVIDIA-A100", []cluster.NodeSpec{
			{Name: "node-1", GPUs: 8}, {Name: "node-2", GPUs: 4, Product: "NVIDIA-A100"}, {Name: "node-3", GPUs: 4, Product: "NVIDIA-A100"},
		}},
		{"none has any", 1, "", []cluster.NodeSpec{{Name: "node-1"}}},
		{"no nodes", 0, "", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := nodeSpecs(c.nodes, c.gpus)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFlagsThatMakeNoNodesSayWhatToTry(t *testing.T) {
	cases := []struct {
		nodes int
		gpus  string
		want  string
	}{
		{3, "8", "Try: 8@1"},
		{3, "8@", "Try: 8@1"},
		{3, "0@1", "Try: 8@1"},
		{3, "-1@1", "Try: 8@1"},
		{3, "8@1,x@2", `--gpus "x@2"`},
		{1, "8@2", "Try: --nodes 2"},
		{-1, "", "Try: --nodes 3"},
	}
	for _, c := range cases {
		if _, err := nodeSpecs(c.nodes, c.gpus); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("--nodes %d --gpus %q: error %v; want one with %q", c.nodes, c.gpus, err, c.want)
		}
	}
}

func TestUnknownUsersAreToldApartFromAMissingPlane(t *testing.T) {
	if err := knownUser("alice"); err != nil {
		t.Errorf("alice: %v", err)
	}
	if err := knownUser("bob"); err == nil || !strings.Contains(err.Error(), "Try: --as admin, or alice, or bypass") {
		t.Errorf("bob: %v; want the users there are", err)
	}
}
