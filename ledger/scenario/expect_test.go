package scenario_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every kind of expectation holds where it is true, and fails where it is not.
func TestExpectations(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"when it starts, on what, and when it ends", `
jobs: [{name: a, at: 1h, queue: lab, requests: {nvidia.com/gpu: 1}, runs: 2h}]
expect:
  - {job: a, startsBy: 1h, startsAfter: 1h, endsBy: 3h, on: fast}
  - {job: a, startsBy: 59m, startsAfter: 61m, endsBy: 179m, on: slow, neverStarts: true}
`, []string{
			"pass 8: a starts by 1h",
			"pass 8: a does not start before 1h",
			"pass 8: a ends by 3h",
			"pass 8: a runs on fast",
			"fail 9: a starts by 59m; what came of it: 1h it comes; 1h it starts on fast; 3h it ends",
			"fail 9: a does not start before 61m; what came of it: 1h it comes; 1h it starts on fast; 3h it ends",
			"fail 9: a ends by 179m; what came of it: 1h it comes; 1h it starts on fast; 3h it ends",
			"fail 9: a never starts; what came of it: 1h it comes; 1h it starts on fast; 3h it ends",
			"fail 9: a runs on slow; what came of it: 1h it comes; 1h it starts on fast; 3h it ends",
		}},
		{"why it waits, and that it never starts", `
jobs:
  - {name: a, count: 2, queue: lab, requests: {nvidia.com/gpu: 2}, runs: 2h}
  - {name: b, at: 30m, queue: lab, requests: {nvidia.com/gpu: 1}}
  - {name: c, queue: lab, requests: {nvidia.com/gpu: 3}}
expect:
  - {job: b, waitsAt: 90m, code: WaitingForQuota}
  - {job: b, waitsAt: 90m, code: NeverFits}
  - {job: b, waitsAt: 2h}
  - {job: c, waitsAt: 10m, code: NeverFits, neverStarts: true}
`, []string{
			"pass 11: b waits at 90m for WaitingForQuota",
			"fail 12: b waits at 90m for NeverFits; what came of it: 30m it comes; 30m it waits, WaitingForQuota: lab uses 2 of 2 nvidia.com/gpu on fast; 1 asked, 0 left; 2h it starts on fast",
			"fail 13: b waits at 2h; what came of it: 30m it comes; 30m it waits, WaitingForQuota: lab uses 2 of 2 nvidia.com/gpu on fast; 1 asked, 0 left; 2h it starts on fast",
			"pass 14: c never starts",
			"pass 14: c waits at 10m for NeverFits",
		}},
		{"who makes room for whom", `
jobs:
  - {name: low, count: 2, queue: lab, priority: normal, requests: {nvidia.com/gpu: 2}, runs: 9h}
  - {name: high, at: 1h, queue: lab, priority: urgent, requests: {nvidia.com/gpu: 2}, runs: 1h}
expect:
  - {job: low-1, preemptedBy: high}
  - {job: low-2, preemptedBy: high}
  - {job: high, startsBy: 1h}
`, []string{
			"pass 10: low-1 makes room for high",
			"fail 11: low-2 makes room for high; what came of it: 0s it comes; 0s it starts on slow",
			"pass 12: high starts by 1h",
		}},
		{"machines that go and come, and a Job that is deleted", `
jobs:
  - {name: a, queue: lab, at: 1h, requests: {nvidia.com/gpu: 2}, nodeSelector: {kind: fast}}
  - {name: b, queue: lab, at: 3h, requests: {nvidia.com/gpu: 2}, nodeSelector: {kind: fast}}
changes:
  - {at: 30m, nodeGone: f}
  - {at: 2h, node: {name: g, labels: {kind: fast}, has: {nvidia.com/gpu: 2}}}
  - {at: 4h, delete: a}
expect:
  - {job: a, startsBy: 2h, startsAfter: 2h}
  - {job: b, startsBy: 4h, startsAfter: 4h}
`, []string{
			"pass 14: a starts by 2h",
			"pass 14: a does not start before 2h",
			"pass 15: b starts by 4h",
			"pass 15: b does not start before 4h",
		}},
		{"a Job that never came by then", `
until: 1h
jobs: [{name: a, at: 2h, queue: lab}]
expect: [{job: a, startsBy: 1h}]
`, []string{"fail 8: a starts by 1h; what came of it: it never came"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, played(t, cluster+c.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The bundle's own rules judge, change and hold the Jobs, at the moments of the
// scenario.
func TestTheBundlesOwnRulesCount(t *testing.T) {
	rules := `package holdshort.policy
import data.holdshort.lib
deny contains lib.reason("team.example/TooMany", "too many") if lib.total("nvidia.com/gpu") > 1
hold contains lib.reason_until("team.example/Early", "not yet", 1767578400000000000) if {
	input.workload.labels.when == "later"
	input.now_ns < 1767578400000000000
}
mutate.nodeSelector := {"kind": "slow"} if input.workload.labels.where == "slow"
protect contains lib.reason("team.example/Safe", "stays") if input.victim.workload.labels.safe == "yes"
`
	got := played(t, cluster+`
jobs:
  - {name: greedy, queue: lab, requests: {nvidia.com/gpu: 2}}
  - {name: later, queue: lab, labels: {when: later}, requests: {nvidia.com/gpu: 1}, runs: 1h}
  - {name: moved, queue: lab, labels: {where: slow, safe: "yes"}, requests: {nvidia.com/gpu: 1}}
  - {name: safe, count: 3, at: 4h, queue: lab, priority: normal, labels: {safe: "yes"}, requests: {nvidia.com/gpu: 1}}
  - {name: urgent, at: 5h, queue: lab, priority: urgent, requests: {nvidia.com/gpu: 1}}
expect:
  - {job: greedy, denied: team.example/TooMany, neverStarts: true}
  - {job: later, waitsAt: 1h, code: team.example/Early, startsBy: 2h}
  - {job: moved, on: slow}
  - {job: safe, startsBy: 4h}
  - {job: urgent, neverStarts: true}
`, "rules.rego", rules)
	want := []string{
		"pass 13: greedy never starts",
		"pass 13: greedy is denied for team.example/TooMany",
		"pass 14: later starts by 2h",
		"pass 14: later waits at 1h for team.example/Early",
		"pass 15: moved runs on slow",
		"pass 16: safe-1 starts by 4h",
		"pass 16: safe-2 starts by 4h",
		"pass 16: safe-3 starts by 4h",
		"pass 17: urgent never starts",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
