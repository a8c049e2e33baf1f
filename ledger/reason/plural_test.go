package reason_test

import (
	"strings"
	"testing"

	"github.com/holdshort/holdshort/ledger/reason"
)

func TestSentencesCountOneAsOne(t *testing.T) {
	one := reason.Machines{Flavor: "f", Pods: 1, Resource: "x", PerPod: 2, Need: 2, Free: 1, Nodes: 1, Largest: 1, Placing: 1, Matching: 2, Out: 1, Lost: 1}
	two := reason.Machines{Flavor: "f", Pods: 2, Resource: "x", PerPod: 2, Need: 4, Free: 2, Nodes: 2, Largest: 1, Placing: 2, Matching: 3, Out: 2, Lost: 2}
	eleven := strings.Split("a b c d e f g h i j k", " ")
	for _, c := range []struct {
		name string
		got  reason.Reason
		want string
	}{
		{"one pod on one node", reason.Scattered(one), "1 pod of 2 x each asked; on the machines of f 1 free on 1 node, at most 1 on one, " +
			"with 1 pod of others still to be placed there; 1 of 2 matching nodes is cordoned or not ready; 1 more is not allocatable now"},
		{"two pods on two nodes", reason.Scattered(two), "2 pods of 2 x each asked; on the machines of f 2 free on 2 nodes, at most 1 on one, " +
			"with 2 pods of others still to be placed there; 2 of 3 matching nodes are cordoned or not ready; 2 more are not allocatable now"},
		{"taken back once", reason.TryingLater(1, 0, "no pods made"), "taken back once, because of no pods made"},
		{"taken back twice", reason.TryingLater(2, 0, "no pods made"), "taken back 2 times, the last time because of no pods made"},
		{"one pod is too much", reason.UncountableTotal("x", 1),
			"spec.parallelism: what 1 pod would hold of x is more than can be counted. Try: fewer pods at once"},
		{"one pod still ends", reason.StillEnding(1, false), "1 pod of its last run not gone yet"},
		{"no pod is ready", reason.NotReady(0, 1, 5), "only 0 of 1 pod ready within 5 s"},
		{"one more queue", reason.NoSuchQueue("q", eleven),
			"the policy has no queue q. Try: label holdshort.dev/queue with one of a, b, c, d, e, f, g, h, i, j and 1 other"},
		{"two more queues", reason.NoSuchQueue("q", append(eleven, "l")),
			"the policy has no queue q. Try: label holdshort.dev/queue with one of a, b, c, d, e, f, g, h, i, j and 2 others"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got.Message != c.want {
				t.Errorf("got  %s\nwant %s", c.got.Message, c.want)
			}
		})
	}
}
