package witness

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// line is how long somebody could have started, and nobody did.
type line struct {
	could bool
	since time.Duration
}

func (l *line) started(at time.Duration) { l.since = at }

// Idles tells how long by now quota and machines would have let a Job start that waits,
// though none started, and which; 0 if none could.
func (a *Account) Idles(at time.Duration) (time.Duration, string) {
	who := a.couldStart()
	if who == "" {
		a.line.could = false
		return 0, ""
	}
	if !a.line.could {
		a.line = line{could: true, since: max(at, a.line.since)}
	}
	return at - a.line.since, who
}

// couldStart names a Job that its quota and the machines would let start. Those that
// are alike are asked once.
func (a *Account) couldStart() string {
	type shape struct {
		queue, selector string
		pods, each      int64
	}
	asked := map[shape]bool{}
	coming := a.coming()
	for _, j := range a.waiting {
		s := shape{j.queue, selectorText(j.selector), j.want - j.done, j.each}
		if asked[s] || j.each == 0 || j.ran { // one that was taken back may have to wait
			continue
		}
		asked[s] = true
		if a.taken[j.queue]+s.pods*s.each <= a.load.Quota[j.queue] && a.room(j, s.pods, coming) {
			return j.name
		}
	}
	return ""
}

// coming is how many pods of Jobs that run, and of strangers, have no node yet, by what
// one asks for.
func (a *Account) coming() map[int64]int64 {
	coming := map[int64]int64{}
	for _, j := range a.jobs {
		if j.admitted && !j.over {
			coming[j.each] += max(0, j.want-j.done-j.bound)
		}
	}
	for _, p := range a.pods {
		if p.job == nil && p.live && !p.bound() {
			coming[p.asks]++
		}
	}
	return coming
}

// room tells whether that many pods of a Job fit wherever those that come will be: one
// that asks for n takes away at most ⌈n/each⌉ places for pods that ask for each.
func (a *Account) room(j *job, pods int64, coming map[int64]int64) bool {
	for n, count := range coming {
		pods += count * ((n + j.each - 1) / j.each)
	}
	for _, n := range a.nodes {
		if !n.closed && n.matches(j.selector) {
			pods -= max(0, n.allocatable-n.held) / j.each
		}
	}
	return pods <= 0
}

func (n *node) matches(selector map[string]string) bool {
	for key, value := range selector {
		if n.labels[key] != value {
			return false
		}
	}
	return true
}

func selectorText(selector map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		b.WriteString(key + "=" + selector[key] + ",")
	}
	return b.String()
}
