//go:build plane

package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

const startsPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      starts:
        namespaces: {names: [starts]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 4}
`

// start is what the plugin says of when a Job starts.
type start struct {
	Earliest, Latest time.Time
	Unknown          string
}

// saysWhen waits until somebody knows something of when a Job starts.
func saysWhen(t *testing.T, s *stories.Scene, name string, enough func(start) bool) start {
	t.Helper()
	var said struct{ Start start }
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		text, err := s.Plugin(t.Context(), cluster.Alice, "explain", "job/"+name, "-n", s.NS, "-o", "json")
		must(t, err)
		said.Start = start{}
		must(t, json.Unmarshal([]byte(text), &said))
		if enough(said.Start) {
			return said.Start
		}
	}
	t.Fatalf("of when %s starts, nobody knows more than %+v", name, said.Start)
	return start{}
}

// Alice is told when her Job starts at the latest, since the one before it has a
// deadline, and so it does. One that can never start, and one whose queue an operator
// holds, are told that.
func TestAJobIsToldWhenItStartsAndStartsThen(t *testing.T) {
	const deadline = 25
	ctx, s := scene(t, "starts", startsPolicy)
	_, err := s.Apply(ctx, job{name: "long", queue: "starts", pods: 4, gpus: 1, spec: within(deadline)}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "long", 4))
	long, _ := admittedAt(t, ctx, s, "long")
	_, err = s.Apply(ctx, job{name: "next", queue: "starts", pods: 2, gpus: 1, spec: within(600)}.yaml())
	must(t, err)
	_, err = s.Apply(ctx, job{name: "too-big", queue: "starts", pods: 5, gpus: 1}.yaml())
	must(t, err)

	told := saysWhen(t, s, "next", func(s start) bool { return !s.Latest.IsZero() })
	if over := told.Latest.Sub(long); over < deadline*time.Second || over > (deadline+35)*time.Second {
		t.Errorf("the one before it must end %d s after its start; this one is to start within %v of that", deadline, over)
	}
	if told := saysWhen(t, s, "too-big", func(s start) bool { return s.Unknown != "" && !yet(s) }); told.Unknown != "never as things are (NeverFits)" {
		t.Errorf("of the one that can never start it says %q", told.Unknown)
	}
	text, err := s.Explain(ctx, "next")
	must(t, err)
	must(t, stories.Contains(text, "Starts ", "if nothing new comes before it; from run limits"))
	text, err = s.Plugin(ctx, cluster.Alice, "jobs", "--start", "-n", s.NS)
	must(t, err)
	must(t, stories.Contains(text, "STARTS(UTC)", ".."))

	must(t, s.Running(ctx, "next", 2))
	if began, _ := admittedAt(t, ctx, s, "next"); began.Before(told.Earliest) || began.After(told.Latest) {
		t.Errorf("it started at %v, and was told %+v", began, told)
	}

	_, err = s.Apply(ctx, job{name: "later", queue: "starts", pods: 4, gpus: 1}.yaml())
	must(t, err)
	setHold(t, ctx, s, "starts", "Hold")
	if told := saysWhen(t, s, "later", func(s start) bool { return s.Unknown != "" && !yet(s) }); told.Unknown != "it is held (QueueHeld), and nobody knows how long" {
		t.Errorf("of one in a queue that is held it says %q", told.Unknown)
	}
	setHold(t, ctx, s, "starts", "None")
}

// yet is before it was worked out for the Job.
func yet(s start) bool {
	return s.Unknown == "it is worked out for those first in line, every few seconds"
}
