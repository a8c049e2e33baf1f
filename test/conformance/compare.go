package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/reason"
)

// differences are those of what came out from what was wanted, one after the
// other, as "what: name: wanted …, got …".
func differences(w want, out outcome) []string {
	firstPreempted := map[string]string{}
	for _, s := range w.FirstRound.Preempted {
		firstPreempted[s.Name] = rightFor(s.Reason)
	}
	preempted, gotPreempted := names(w.Settled.Preempted), names(out.preempted)
	waiting, gotWaiting := map[string]string{}, map[string]string{}
	for _, s := range w.Settled.Waiting {
		waiting[s.Name] = s.Reason
	}
	for name, code := range out.waiting {
		gotWaiting[name] = code
		if wanted, ok := waiting[name]; ok && slices.Contains(codesFor(wanted), reason.Code(code)) || wanted == "Any" {
			gotWaiting[name] = wanted
		}
	}
	return slices.Concat(
		differ("admitted", describeAll(w.Settled.Admitted), out.admitted),
		differ("preempted", preempted, gotPreempted),
		differ("first round admitted", describeAll(w.FirstRound.Admitted), out.firstAdmitted),
		differ("first round preempted", firstPreempted, out.firstPreempted),
		differ("waiting", waiting, gotWaiting),
	)
}

// codesFor is our reasons for one of the cases'.
func codesFor(wanted string) []reason.Code {
	switch wanted {
	case "ExceedsMaxQuota":
		return []reason.Code{reason.NeverFits}
	case "WaitingForQuota":
		return []reason.Code{reason.WaitingForQuota}
	case "NoMatchingFlavor":
		return []reason.Code{reason.NoMatchingFlavor, reason.UnknownResource}
	case "BehindHead":
		return []reason.Code{reason.BehindOthers}
	case "QueueInactive":
		return []reason.Code{reason.UnknownQueue}
	}
	return nil
}

// rightFor is our name of what lets one Job take the place of another.
func rightFor(wanted string) string {
	if wanted == "InClusterQueue" {
		return "InQueue"
	}
	return wanted
}

func names(list []string) map[string]string {
	all := map[string]string{}
	for _, name := range list {
		all[name] = "yes"
	}
	return all
}

func differ(what string, want, got map[string]string) []string {
	both := maps.Clone(want)
	maps.Copy(both, got)
	var found []string
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if want[name] != got[name] {
			found = append(found, fmt.Sprintf("%s: %s: wanted %s, got %s", what, name, orNot(want[name]), orNot(got[name])))
		}
	}
	return found
}

func orNot(text string) string {
	if text == "" {
		return "no"
	}
	return text
}

func describeAll(jobs []wantJob) map[string]string {
	all := map[string]string{}
	for _, j := range jobs {
		all[j.Name] = describe(j.PodSets)
	}
	return all
}

// describe is pod sets in one line: main 2 {cpu: a, memory: a}.
func describe(sets []wantPodSet) string {
	var all []string
	for _, s := range sets {
		var flavors []string
		for _, name := range slices.Sorted(maps.Keys(s.Flavors)) {
			flavors = append(flavors, name+": "+s.Flavors[name])
		}
		all = append(all, fmt.Sprintf("%s %d {%s}", s.Name, s.Count, strings.Join(flavors, ", ")))
	}
	return strings.Join(all, " + ")
}
