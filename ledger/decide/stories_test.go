package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
	"github.com/holdshort/holdshort/policies"
)

// TestStories tells small situations and holds the plan against what must come
// of them: who starts, and the very sentence that each other one gets.
func TestStories(t *testing.T) {
	for _, story := range []struct {
		name    string
		given   func(*world)
		starts  []string
		waiting map[string]string
	}{
		{"of two that need the whole quota the first to arrive starts", func(w *world) {
			w.node("n1", 8)
			w.job("train-a", 4, 1)
			w.job("train-b", 4, 1)
		}, []string{"train-a"}, map[string]string{
			"train-b": "WaitingForQuota: research uses 4 of 4 nvidia.com/gpu on gpu; 4 asked, 0 left",
		}},
		{"cpu and memory are charged like devices", func(w *world) {
			q := queue(0)
			q.Quota["gpu"] = map[string]policies.Limit{"cpu": {Nominal: 4000}, "memory": {Nominal: 8 << 30}}
			w.catalog.Queues["research"] = q
			w.node("n1", 0)
			ask := func(j *demand.Job) {
				j.PodSets[0].Requests = resource.List{"pods": 1, "cpu": 3000, "memory": 4 << 30}
			}
			w.job("one", 1, 0, ask)
			w.job("two", 1, 0, ask)
		}, []string{"one"}, map[string]string{
			"two": "WaitingForQuota: research uses 3 of 4 cpu on gpu; 3 asked, 1 left",
		}},
		{"a pod that nobody queued takes room like any other", func(w *world) {
			w.catalog.Queues["research"] = queue(8)
			w.node("n1", 8)
			w.pod("stranger", "n1", "", 5)
			w.job("train", 4, 1)
		}, []string{}, map[string]string{
			"train": "WaitingForMachines: 4 nvidia.com/gpu asked, 3 free on the machines of gpu",
		}},
		{"a terminating pod holds its devices until it is gone", func(w *world) {
			w.node("n1", 4)
			w.pod("stranger", "n1", "", 1, func(p *supply.Pod) { p.Deleting = true })
			w.job("train", 4, 1)
		}, []string{}, map[string]string{
			"train": "WaitingForMachines: 4 nvidia.com/gpu asked, 3 free on the machines of gpu",
		}},
		{"two gaps of one are not a gap of two", func(w *world) {
			w.node("n1", 8)
			w.node("n2", 8)
			w.pod("a", "n1", "", 7)
			w.pod("b", "n2", "", 7)
			w.job("train", 1, 2)
		}, []string{}, map[string]string{
			"train": "Fragmented: 1 pod of 2 nvidia.com/gpu each asked; on the machines of gpu 2 free on 2 nodes, at most 1 on one",
		}},
		{"the highest priority goes first though it came last, equals by arrival", func(w *world) {
			w.node("n1", 8)
			w.priority("urgent", 100)
			w.job("first", 2, 1)
			w.job("second", 2, 1)
			w.job("urgent", 2, 1)
		}, []string{"urgent", "first"}, map[string]string{
			"second": "WaitingForQuota: research uses 4 of 4 nvidia.com/gpu on gpu; 2 asked, 0 left",
		}},
		{"what does not fit is overtaken unless the queue is strict", func(w *world) {
			w.catalog.Queues["research"] = queue(8)
			w.node("n1", 8)
			w.pod("stranger", "n1", "", 5)
			w.job("big", 4, 1)
			w.job("small", 1, 1)
		}, []string{"small"}, map[string]string{
			"big": "WaitingForMachines: 4 nvidia.com/gpu asked, 3 free on the machines of gpu, with 1 pod of others still to be placed there",
		}},
		{"a strict queue waits for its head", func(w *world) {
			q := queue(4)
			q.Strategy = policies.StrictFIFO
			w.catalog.Queues["research"] = q
			w.node("n1", 8)
			w.pod("stranger", "n1", "", 5)
			w.job("big", 4, 1)
			w.job("small", 1, 1)
		}, []string{}, map[string]string{
			"big":   "WaitingForMachines: 4 nvidia.com/gpu asked, 3 free on the machines of gpu",
			"small": "BehindOthers: research is strict about order, and team/big is before it and does not fit yet",
		}},
		{"a strict queue passes over what can never start", func(w *world) {
			q := queue(4)
			q.Strategy = policies.StrictFIFO
			w.catalog.Queues["research"] = q
			w.node("n1", 2)
			w.job("huge", 5, 1)
			w.job("bulky", 1, 4)
			w.job("held", 1, 1, func(j *demand.Job) { j.HeldByOwner = true })
			w.job("small", 1, 1)
		}, []string{"small"}, map[string]string{
			"huge": "NeverFits: 5 nvidia.com/gpu asked; research may use at most 4 on gpu. Try: ask for less",
			"bulky": "NeverFits: no node of gpu could ever hold a pod of it: 4 nvidia.com/gpu asked, 2 is the most that one has. " +
				"It starts by itself if more or bigger ones come. Try: ask for less per pod",
			"held": "HeldByOwner: annotation holdshort.dev/hold is set. Try: remove it",
		}},
		{"without a policy nothing starts", func(w *world) {
			w.catalog = nil
			w.node("n1", 8)
			w.job("train", 1, 1)
		}, []string{}, map[string]string{
			"train": "PolicyUnavailable: no policy is in force, so nothing is admitted. Try: kubectl get policyrollouts",
		}},
		{"an error of the policy is not a yes", func(w *world) {
			w.node("n1", 8)
			w.job("train", 1, 1)
			w.verdicts["uid-train"] = decide.Outcome{Reason: &reason.Reason{Code: reason.PolicyError, Message: "classify: division by zero"}}
		}, []string{}, map[string]string{"train": "PolicyError: classify: division by zero"}},
		{"a Job that was not judged yet waits", func(w *world) {
			w.node("n1", 8)
			w.job("train", 1, 1)
			delete(w.verdicts, "uid-train")
		}, []string{}, map[string]string{"train": "CatchingUp: the policy has not been asked about it yet"}},
		{"unknown queues, closed queues and held queues are told apart", func(w *world) {
			q := queue(4)
			q.Namespaces = policies.NamespaceRule{Names: []string{"others"}}
			w.catalog.Queues["closed"] = q
			w.catalog.Queues["stopped"] = queue(4)
			w.in.Held = map[string]bool{"stopped": true}
			to := func(q string) func(*demand.Job) { return func(j *demand.Job) { j.Queue = q } }
			w.job("a", 1, 1, to("typo"))
			w.job("b", 1, 1, to("closed"))
			w.job("c", 1, 1, to("stopped"))
		}, []string{}, map[string]string{
			"a": "UnknownQueue: the policy has no queue typo. Try: label holdshort.dev/queue with one of research, stopped",
			"b": "UnknownQueue: queue closed takes no Jobs of namespace team. Try: another queue, or have namespaces of the queue changed",
			"c": "QueueHeld: queue stopped is held by an operator (spec.hold of the Queue)",
		}},
		{"a resource that nobody named is never free of charge", func(w *world) {
			w.node("n1", 8, func(n *supply.Node) { n.Allocatable["example.com/fpga"] = 4 })
			w.job("train", 1, 1, func(j *demand.Job) { j.PodSets[0].Requests["example.com/fpga"] = 1 })
		}, []string{}, map[string]string{
			"train": "UnknownResource: example.com/fpga: not in a quota of research, nor listed under resources in the policy. " +
				"Try: have it given a quota (queues.research.quota of the policy), or listed under resources.unlimited",
		}},
		{"an ignored resource is asked of no node", func(w *world) {
			w.catalog.Resources.Ignored = []string{"example.com/*"}
			w.book.SetRules(w.catalog.Resources)
			w.node("n1", 8)
			w.job("train", 1, 1, func(j *demand.Job) { j.PodSets[0].Requests["example.com/fpga"] = 1 })
		}, []string{"train"}, map[string]string{}},
		{"a Job without pods is sent back to its owner", func(w *world) {
			w.node("n1", 8)
			w.job("none", 0, 1)
		}, []string{}, map[string]string{
			"none": "BadRequest: it asks for no pods (spec.parallelism: 0, or nothing left to do). Try: set spec.parallelism",
		}},
		{"two thousand million pods are only many", func(w *world) {
			w.node("n1", 8)
			w.job("many", 2_000_000_000, 1<<40)
		}, []string{}, map[string]string{
			"many": "NeverFits: more than can be counted nvidia.com/gpu asked; research may use at most 4 on gpu. Try: ask for less",
		}},
		{"a Job whose last pods are not gone is not let go again", func(w *world) {
			w.node("n1", 8)
			w.job("again", 1, 1)
			w.pod("old", "n1", "again", 1, func(p *supply.Pod) { p.Deleting = true })
			w.job("stopping", 1, 1, func(j *demand.Job) { j.Started = true })
		}, []string{}, map[string]string{
			"again":    "BackingOff: 1 pod of its last run not gone yet",
			"stopping": "BackingOff: it was suspended a moment ago and is not marked so yet",
		}},
		{"a finished or deleted Job is not in line", func(w *world) {
			w.node("n1", 8)
			w.job("done", 1, 1, func(j *demand.Job) { j.Finished = true })
			w.job("going", 1, 1, func(j *demand.Job) { j.Deleting = true })
		}, []string{}, map[string]string{}},
		{"nothing new on a node that is not ready or cordoned", func(w *world) {
			w.node("n1", 8, func(n *supply.Node) { n.Ready = false })
			w.node("n2", 8, func(n *supply.Node) {
				n.Taints = []policies.Taint{{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"}}
			})
			w.job("train", 1, 1, func(j *demand.Job) {
				j.PodSets[0].Place.Tolerations = []policies.Toleration{{Operator: "Exists"}}
			})
		}, []string{}, map[string]string{
			"train": "WaitingForMachines: 1 nvidia.com/gpu asked, 0 free on the machines of gpu; all 2 matching nodes are cordoned or not ready",
		}},
		{"quota that was lowered below what is used frees nothing", func(w *world) {
			w.node("n1", 8)
			w.carryOut(w.planOf(w.job("old", 4, 1)))
			w.catalog.Queues["research"] = queue(2)
			w.job("new", 1, 1)
		}, []string{}, map[string]string{
			"new": "WaitingForQuota: research uses 4 of 2 nvidia.com/gpu on gpu; 1 asked, 0 left",
		}},
	} {
		t.Run(story.name, func(t *testing.T) {
			w := newWorld(t)
			story.given(w)
			got := w.plan()
			if diff := cmp.Diff(story.starts, started(got)); diff != "" {
				t.Errorf("who starts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(story.waiting, said(got)); diff != "" {
				t.Errorf("who waits and why (-want +got):\n%s", diff)
			}
			if err := w.book.SelfCheck(); err != nil {
				t.Error(err)
			}
		})
	}
}

// planOf plans while only one Job is there.
func (w *world) planOf(*demand.Job) decide.Result { return w.plan() }
