package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/sim"
)

// expectation is one thing that is to come of a Job.
type expectation struct {
	job  string
	text string // late starts by 3h
	row  int
	want want
}

// want is whether the life of a Job is as it should be.
type want struct {
	field, says string
	is          func(s *story, life []sim.Record) bool
}

// wants are all that a row says of its Job.
func (e *expectSpec) wants() []want {
	var all []want
	add := func(set bool, field, says string, is func(*story, []sim.Record) bool) {
		if set {
			all = append(all, want{field, says, is})
		}
	}
	add(e.StartsBy != "", "startsBy", "starts by "+e.StartsBy, func(s *story, life []sim.Record) bool {
		at, ok := first(life, sim.Admitted)
		return ok && at <= s.moment(e.StartsBy)
	})
	add(e.StartsAfter != "", "startsAfter", "does not start before "+e.StartsAfter, func(s *story, life []sim.Record) bool {
		at, ok := first(life, sim.Admitted)
		return !ok || at >= s.moment(e.StartsAfter)
	})
	add(e.EndsBy != "", "endsBy", "ends by "+e.EndsBy, func(s *story, life []sim.Record) bool {
		at, ok := first(life, sim.Ended)
		return ok && at <= s.moment(e.EndsBy)
	})
	add(e.NeverStarts, "neverStarts", "never starts", func(_ *story, life []sim.Record) bool {
		_, ok := first(life, sim.Admitted)
		return !ok
	})
	add(e.WaitsAt != "", "waitsAt", strings.TrimSuffix("waits at "+e.WaitsAt+" for "+e.Code, " for "), func(s *story, life []sim.Record) bool {
		last := lastBy(life, s.moment(e.WaitsAt))
		return last != nil && (last.Kind == sim.Waits || last.Kind == sim.Arrived || last.Kind == sim.Evicted) && has(last.Reason, e.Code)
	})
	add(e.Denied != "", "denied", "is denied for "+e.Denied, func(_ *story, life []sim.Record) bool {
		return slices.ContainsFunc(life, func(r sim.Record) bool { return r.Code == reason.DeniedByPolicy && has(r.Reason, e.Denied) })
	})
	add(e.On != "", "on", "runs on "+e.On, func(_ *story, life []sim.Record) bool {
		return slices.ContainsFunc(life, func(r sim.Record) bool { return r.Kind == sim.Admitted && on(r, e.On) })
	})
	add(e.PreemptedBy != "", "preemptedBy", "makes room for "+e.PreemptedBy, func(s *story, life []sim.Record) bool {
		return slices.ContainsFunc(life, func(r sim.Record) bool {
			return r.Kind == sim.Evicted && slices.Contains(s.those(e.PreemptedBy), r.By)
		})
	})
	return all
}

// expectations are what a row says of each Job that it names.
func (s *script) expectations(i int) []expectation {
	e := &s.Expect[i]
	var all []expectation
	for _, name := range s.those(e.Job) {
		for _, w := range e.wants() {
			all = append(all, expectation{job: name, text: name + " " + w.says, row: s.doc.Row("expect", fmt.Sprint(i), w.field), want: w})
		}
	}
	return all
}

// holds is empty if what came of the Job is as expected, else what did come of it.
func (e *expectation) holds(s *story) string {
	life := s.lives[e.job]
	if e.want.is(s, life) {
		return ""
	}
	return "what came of it: " + s.told(life)
}

// has tells whether a reason is given by a code, holdshort's own or the policy's.
func has(r reason.Reason, code string) bool {
	return code == "" || string(r.Code) == code || r.PolicyCode == code || strings.Contains(r.Message, code+": ")
}

func first(life []sim.Record, kind sim.Kind) (int64, bool) {
	for _, r := range life {
		if r.Kind == kind {
			return r.At, true
		}
	}
	return 0, false
}

// lastBy is what happened last to a Job by a moment.
func lastBy(life []sim.Record, moment int64) *sim.Record {
	var last *sim.Record
	for i := range life {
		if life[i].At <= moment {
			last = &life[i]
		}
	}
	return last
}

// on tells whether an admission gave anything on a flavor.
func on(r sim.Record, flavor string) bool {
	for _, set := range r.Given.PodSets {
		for _, given := range set.Flavors {
			if given == flavor {
				return true
			}
		}
	}
	return false
}

// story is what came of a script.
type story struct {
	*script
	lives map[string][]sim.Record
}

func tell(s *script, log *sim.Log) *story {
	t := &story{s, map[string][]sim.Record{}}
	for _, r := range log.Records {
		t.lives[r.UID] = append(t.lives[r.UID], r)
	}
	return t
}

// mostTold is how many steps of a life a difference shows.
const mostTold = 12

// told is the life of a Job in a sentence.
func (s *story) told(life []sim.Record) string {
	var steps []string
	for _, r := range life {
		steps = append(steps, s.after(r.At)+" "+step(r))
	}
	if len(steps) == 0 {
		return "it never came"
	}
	if len(steps) > mostTold {
		steps = slices.Concat(steps[:mostTold/2], []string{"…"}, steps[len(steps)-mostTold/2:])
	}
	return strings.Join(steps, "; ")
}

func step(r sim.Record) string {
	switch r.Kind {
	case sim.Arrived:
		return "it comes"
	case sim.Waits:
		return fmt.Sprintf("it waits, %s: %s", r.Code, r.Reason.Message)
	case sim.Admitted:
		return "it starts" + onFlavors(r)
	case sim.Evicted:
		if r.By != "" {
			return "it makes room for " + r.By
		}
		return "it is taken back: " + r.Reason.Message
	case sim.Ended:
		return "it ends"
	case sim.Deleted:
		return "it is deleted"
	}
	return string(r.Kind)
}

// onFlavors is the flavors of an admission.
func onFlavors(r sim.Record) string {
	var flavors []string
	for _, set := range r.Given.PodSets {
		for _, flavor := range set.Flavors {
			if !slices.Contains(flavors, flavor) {
				flavors = append(flavors, flavor)
			}
		}
	}
	slices.Sort(flavors)
	if len(flavors) == 0 {
		return ""
	}
	return " on " + strings.Join(flavors, ", ")
}

// after is how long after the start a moment is, as a scenario writes it.
func (s *story) after(moment int64) string {
	text := time.Duration(moment - s.starts).String()
	for _, none := range []string{"0s", "0m"} {
		if len(text) > len(none) && strings.HasSuffix(text, none) && strings.ContainsAny(text[len(text)-len(none)-1:len(text)-len(none)], "hm") {
			text = strings.TrimSuffix(text, none)
		}
	}
	return text
}
