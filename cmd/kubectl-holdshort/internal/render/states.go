package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// state as the header shows it: loud, and coloured where somebody looks.
func (t Text) state(s string) string {
	loud := strings.ToUpper(s)
	if !t.Color {
		return loud
	}
	const bold, red, green, yellow, off = "\x1b[1m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m", "\x1b[0m"
	switch s {
	case report.StateWaiting, report.StateHeld:
		return yellow + loud + off
	case report.StateRejected, report.StateFailed:
		return red + loud + off
	case report.StateAdmitted, report.StateComplete:
		return green + loud + off
	}
	return bold + loud + off
}

// why is the main line: what stands in the way, or that nothing does.
func (t Text) why(x report.JobExplanation) []line {
	switch x.State {
	case report.StateUnmanaged:
		return unmanaged(x)
	case report.StateBypassed:
		return []line{{"Why", fmt.Sprintf("somebody who may started it past the queue, because of %q (annotation %s)", x.Bypass, policies.AnnotationBypass)}}
	case report.StateUncharged:
		return []line{{"Why", "it was started without holdshort: its queue is charged for its pods, and it runs on unless the policy says otherwise (unreserved)"}}
	}
	switch {
	case x.Code != "":
		return append([]line{{"Why", x.Code + ": " + x.Message}}, t.until(x)...)
	case x.Message != "":
		return []line{{"Why", x.Message}}
	}
	return nil
}

// until is when what holds the Job ends by itself.
func (t Text) until(x report.JobExplanation) []line {
	if x.Until == nil || !x.Until.After(t.Now) {
		return nil
	}
	return []line{{"Until", fmt.Sprintf("%s (in %s)", x.Until.Format("2006-01-02 15:04 UTC"), age(*x.Until, t.Now))}}
}

// unmanaged says why holdshort leaves the Job alone, and how that is changed.
func unmanaged(x report.JobExplanation) []line {
	why := line{"Why", "holdshort does not manage this Job: it has no label " + policies.LabelQueue}
	if x.Queue != "" {
		why.text = "holdshort does not manage this Job though it has the label " + policies.LabelQueue +
			": another controller handles it, or its namespace is never managed"
	}
	lines := []line{why}
	for _, label := range x.Misspelt {
		lines = append(lines, line{"", "It has " + label + ", though; was " + policies.LabelQueue + " meant?"})
	}
	if x.Queue != "" {
		return lines
	}
	object := "job/" + x.Name + " -n " + x.Namespace
	if !x.Suspended {
		return append(lines, line{"To queue", "put the label into the manifest, and create the Job again"})
	}
	return append(lines,
		line{"", "It is suspended (spec.suspend), and holdshort won't start it."},
		line{"To queue", "kubectl label " + object + " " + policies.LabelQueue + "=QUEUE, while it has no pods"},
		line{"To start", "kubectl patch " + object + ` --type=merge -p '{"spec":{"suspend":false}}', without a queue`})
}

// admitted is what the Job was given and what became of it.
func (t Text) admitted(x report.JobExplanation) []line {
	var lines []line
	if a := x.Admitted; a != nil {
		lines = append(lines, line{"Admitted", fmt.Sprintf("since %s (%s ago)",
			a.Since.UTC().Format("2006-01-02 15:04:05Z"), age(t.Now, a.Since))})
		for _, set := range a.Flavors {
			lines = append(lines, line{"Flavors", flavorText(set)})
			if set.Domains != nil {
				lines = append(lines, line{"Domain", set.Domains.String()})
			}
		}
		if len(a.Plan) > 0 {
			lines = append(lines, line{"Nodes", planText(a.Plan)})
		}
		if a.Machines > 0 && x.Pods != nil && x.Pods.Pending > 0 {
			lines = append(lines, line{"Machines", reason.MoreMachines(a.Machines)})
		}
	}
	if x.Pods != nil {
		lines = append(lines, line{"Pods", podText(*x.Pods, x.State)})
	}
	return append(lines, failingLines(x)...)
}

// failuresMax is how many ways to fail are shown; -o json has all.
const failuresMax = 3

// failingLines are what is wrong with pods, and what the Job controller does
// about those that failed.
func failingLines(x report.JobExplanation) []line {
	var lines []line
	for i, f := range x.Failing {
		if i == failuresMax {
			lines = append(lines, line{"", fmt.Sprintf("and %d other ways; -o json has them", len(x.Failing)-failuresMax)})
			break
		}
		text := fmt.Sprintf("%s: %s", podsText(f.Pods), f.Reason)
		if f.Message != "" {
			text += ": " + f.Message
		}
		lines = append(lines, line{"Failing", fmt.Sprintf("%s (pod %s)", text, f.Pod)})
	}
	if f := x.FailedPods; f != nil {
		text := podsText(f.Count) + " failed so far"
		if f.Limit != nil {
			text += fmt.Sprintf(", backoffLimit %d", *f.Limit)
		}
		if f.Again {
			text += "; the Job controller makes new ones after a pause that doubles each time (10s, 20s, …)"
		}
		lines = append(lines, line{"Failed", text})
	}
	return lines
}

// flavorText says which resource is on which flavor. Every reservation has a
// flavor for the pod slots too; it only matters where nothing else is charged.
func flavorText(set report.AdmittedFlavors) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(set.Flavors)) {
		if name != resource.Pods || len(set.Flavors) == 1 {
			parts = append(parts, name+" on "+set.Flavors[name])
		}
	}
	return orDash(strings.Join(parts, ", "))
}

func planText(plan []report.PlannedNode) string {
	var parts []string
	for _, p := range plan {
		parts = append(parts, fmt.Sprintf("%s × %d", p.Node, p.Pods))
	}
	return "planned " + strings.Join(parts, ", ")
}

func podText(c report.PodCounts, state string) string {
	var parts []string
	for _, part := range []struct {
		count int64
		what  string
	}{
		{c.Running, "running"}, {c.Pending, "pending"}, {c.Succeeded, "succeeded"},
		{c.Failed, "failed"}, {c.Terminating, "terminating"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.what))
		}
	}
	switch {
	case len(parts) == 0 && (state == report.StateComplete || state == report.StateFailed):
		return "none left"
	case len(parts) == 0:
		return "none yet"
	}
	return strings.Join(parts, ", ")
}
