package docs

import (
	"fmt"

	"github.com/holdshort/holdshort/ledger/estimate"
	"github.com/holdshort/holdshort/ledger/sim"
)

// estimates keeps what a Job that waits would be told of its start.
func (p *played) estimates(m *sim.Moment) {
	if len(m.Plan.Admit)+len(m.Plan.Suspend) > 0 {
		return // not over yet
	}
	in := m.Input
	p.starts[in.Now] = estimate.Work(estimate.Input{Plan: in, Jobs: m.Jobs, Pods: m.Pods, Nodes: m.Nodes, Each: len(p.jobs)})
}

// whenTheyStart is the estimates of a moment beside what happened then.
func (p *played) whenTheyStart(when string) (string, error) {
	at, err := clock(when)
	if err != nil {
		return "", err
	}
	starts, there := p.starts[at]
	if !there {
		return "", fmt.Errorf("nothing happens at %s", when)
	}
	b := tableOf("Job", "is told at "+when, "starts")
	for _, queue := range sortedKeys(starts) {
		for _, s := range starts[queue] {
			row(b, "`"+s.Name+"`", told(at, s), p.started(s.UID, at))
		}
	}
	return b.String(), nil
}

// told is an estimate in the words of the plugin, without its grounds.
func told(now int64, s estimate.Start) string {
	switch {
	case s.Latest == 0 && s.Earliest > now:
		return "not before " + timeOfDay(s.Earliest) + "; " + s.Unknown
	case s.Latest == 0:
		return "unknown: " + s.Unknown
	case s.Earliest > now:
		return "between " + timeOfDay(s.Earliest) + " and " + timeOfDay(s.Latest)
	}
	return "by " + timeOfDay(s.Latest)
}

// started is when a Job started after a moment.
func (p *played) started(uid string, after int64) string {
	for _, r := range p.log.Records {
		if r.UID == uid && r.Kind == sim.Admitted && r.At >= after {
			return timeOfDay(r.At)
		}
	}
	return "never"
}
