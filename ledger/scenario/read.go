package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdshort/holdshort/policies/engine"
)

// mostOf is the most Jobs, or nodes, of a scenario.
const mostOf = 10_000

// defaultStart is a Monday.
const defaultStart = "2026-01-05T00:00:00Z"

// script is a scenario that was read, with its moments as unix nanoseconds.
type script struct {
	file
	doc           *engine.Document
	starts, until int64
	named         map[string][]string // Job as it is named → those that it stands for
}

// reader collects what is wrong with a file.
type reader struct {
	doc      *engine.Document
	problems []engine.Problem
}

func (r *reader) fail(path []string, try, format string, args ...any) {
	r.problems = append(r.problems, r.doc.Problem(path, fmt.Sprintf(format, args...), try))
}

// read makes a script of a file, or says all that is wrong with it.
func read(name string, content []byte) (*script, []engine.Problem) {
	s := &script{named: map[string][]string{}}
	doc, problems := engine.ReadDocument(name, content, &s.file)
	if len(problems) > 0 {
		return nil, problems
	}
	s.doc = doc
	r := &reader{doc: doc}
	s.starts = r.start(s.Starts)
	s.until = s.starts
	r.nodes(s)
	r.jobs(s)
	r.changes(s)
	r.autoscaler(s)
	r.expectations(s)
	if s.Until != "" {
		s.until = s.starts + r.moment(s.Until, "until")
	}
	return s, r.problems
}

func (r *reader) start(text string) int64 {
	if text == "" {
		text = defaultStart
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		r.fail([]string{"starts"}, defaultStart, "starts: %q is no moment", text)
	}
	return at.UnixNano()
}

// moment is how long after the start something is; empty is the start.
func (r *reader) moment(text string, path ...string) int64 {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		r.fail(path, "90m, or 26h30m", "%s: %q is no duration", where(path), text)
	case d < 0:
		r.fail(path, strings.TrimPrefix(text, "-"), "%s: %s is before the start", where(path), text)
	}
	return int64(d)
}

func where(path []string) string {
	text := path[0]
	for _, part := range path[1:] {
		if _, err := strconv.Atoi(part); err == nil {
			text += "[" + part + "]"
		} else {
			text += "." + part
		}
	}
	return text
}

// reach has the run go on at least until a moment that the file names.
func (s *script) reach(after int64) { s.until = max(s.until, s.starts+after) }

func at(list string, i int, more ...string) []string {
	return append([]string{list, strconv.Itoa(i)}, more...)
}

func (r *reader) nodes(s *script) {
	total := int64(0)
	names := map[string]bool{}
	for i, n := range s.Nodes {
		s.Nodes[i].Count = r.count(n.Count, at("nodes", i, "count"))
		total += s.Nodes[i].Count
		if names[n.Name] {
			r.fail(at("nodes", i, "name"), "another name", "%s: there is a node %s already", where(at("nodes", i)), n.Name)
		}
		names[n.Name] = true
	}
	if total > mostOf {
		r.fail([]string{"nodes"}, "fewer", "nodes: %d are more than %d", total, mostOf)
	}
}

// count is how many a row stands for.
func (r *reader) count(n int64, path []string) int64 {
	if n < 0 || n > mostOf {
		r.fail(path, "a number from 1 to "+strconv.Itoa(mostOf), "%s: %d", where(path), n)
		return 0
	}
	return max(n, 1)
}

// names are those that a row stands for.
func names(name string, count int64) []string {
	if count <= 1 {
		return []string{name}
	}
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf("%s-%d", name, i+1))
	}
	return all
}

func (r *reader) jobs(s *script) {
	taken, total := map[string]bool{}, int64(0)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		count := r.count(j.Count, at("jobs", i, "count"))
		if total += count; total > mostOf {
			r.fail(at("jobs", i), "fewer", "jobs: more than %d", mostOf)
			return
		}
		s.named[j.Name] = names(j.Name, count)
		for _, name := range s.named[j.Name] {
			if taken[name] {
				r.fail(at("jobs", i, "name"), "another name", "%s: there is a Job %s already", where(at("jobs", i)), name)
			}
			taken[name] = true
		}
		s.reach(r.moment(j.At, at("jobs", i, "at")...))
		r.moment(j.Runs, at("jobs", i, "runs")...)
		r.moment(j.Deadline, at("jobs", i, "deadline")...)
		if j.Pods < 0 {
			r.fail(at("jobs", i, "pods"), "1", "%s: %d", where(at("jobs", i, "pods")), j.Pods)
		}
		r.namespace(s, j, i)
	}
}

// namespace of a Job is the one that there is, unless it says which.
func (r *reader) namespace(s *script, j *jobSpec, i int) {
	declared := slices.Sorted(maps.Keys(s.Namespaces))
	switch {
	case j.Namespace == "" && len(declared) == 1:
		j.Namespace = declared[0]
	case j.Namespace == "" && len(declared) == 0:
		j.Namespace = "default"
	case j.Namespace == "":
		r.fail(at("jobs", i), "namespace: "+declared[0], "%s: namespace is missing, and there are several", where(at("jobs", i)))
	case len(declared) > 0 && !slices.Contains(declared, j.Namespace):
		r.fail(at("jobs", i, "namespace"), oneOf(j.Namespace, declared), "%s: there is no namespace %s", where(at("jobs", i)), j.Namespace)
	}
}

func (r *reader) changes(s *script) {
	nodes := map[string]bool{}
	for _, n := range s.Nodes {
		for _, name := range names(n.Name, n.Count) {
			nodes[name] = true
		}
	}
	for i, c := range s.Changes {
		s.reach(r.moment(c.At, at("changes", i, "at")...))
		set := 0
		if c.Node != nil {
			set++
			c.Node.Count = r.count(c.Node.Count, at("changes", i, "node", "count"))
			for _, name := range names(c.Node.Name, c.Node.Count) {
				nodes[name] = true
			}
		}
		if c.NodeGone != "" {
			if set++; !nodes[c.NodeGone] {
				r.fail(at("changes", i, "nodeGone"), oneOf(c.NodeGone, slices.Sorted(maps.Keys(nodes))), "%s: there is no node %s", where(at("changes", i)), c.NodeGone)
			}
		}
		if c.Delete != "" {
			set++
			r.known(s, c.Delete, at("changes", i, "delete"))
		}
		if set != 1 {
			r.fail(at("changes", i), "one of node, nodeGone, delete, in a row of its own", "%s: says %d things that change", where(at("changes", i)), set)
		}
	}
}

// known are the Jobs that a name stands for.
func (r *reader) known(s *script, name string, path []string) {
	if !slices.Contains(slices.Concat(slices.Collect(maps.Values(s.named))...), name) && s.named[name] == nil {
		r.fail(path, oneOf(name, slices.Sorted(maps.Keys(s.named))), "%s: there is no Job %s", where(path), name)
	}
}

// those are the Jobs that a known name stands for.
func (s *script) those(name string) []string {
	if all := s.named[name]; all != nil {
		return all
	}
	return []string{name}
}

func (r *reader) expectations(s *script) {
	if len(s.Expect) == 0 {
		r.fail([]string{"expect"}, "- {job: …, startsBy: 1h}", "expect: nothing is expected")
	}
	for i, e := range s.Expect {
		r.known(s, e.Job, at("expect", i, "job"))
		for _, m := range [][2]string{{"startsBy", e.StartsBy}, {"startsAfter", e.StartsAfter}, {"endsBy", e.EndsBy}, {"waitsAt", e.WaitsAt}} {
			s.reach(r.moment(m[1], at("expect", i, m[0])...))
		}
		if e.PreemptedBy != "" {
			r.known(s, e.PreemptedBy, at("expect", i, "preemptedBy"))
		}
		if e.Code != "" && e.WaitsAt == "" {
			r.fail(at("expect", i, "code"), "waitsAt: 1h beside it", "%s: code says why a Job waits, and not when", where(at("expect", i)))
		}
		if len(e.wants()) == 0 {
			r.fail(at("expect", i), "startsBy, startsAfter, endsBy, neverStarts, waitsAt, denied, on, preemptedBy", "%s: nothing is expected of %s", where(at("expect", i)), e.Job)
		}
	}
}

// oneOf is the nearest of some names, or all of them.
func oneOf(name string, known []string) string {
	if guess := engine.Nearest(name, known); guess != "" {
		return guess
	}
	if len(known) > 8 {
		known = append(slices.Clone(known[:8]), "…")
	}
	return "one of " + strings.Join(known, ", ")
}
