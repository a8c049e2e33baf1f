package decide

import "container/heap"

// wakes is the moments at which Jobs are to be judged again, the next one first.
// One that has been judged since is still there, and passed over.
type wakes []moment

type moment struct {
	at  int64
	uid string
}

func (w wakes) Len() int           { return len(w) }
func (w wakes) Less(i, j int) bool { return w[i].at < w[j].at }
func (w wakes) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *wakes) Push(x any)        { *w = append(*w, x.(moment)) }

func (w *wakes) Pop() any {
	last := len(*w) - 1
	m := (*w)[last]
	*w = (*w)[:last]
	return m
}

// due takes out those whose moment has come.
func (w *wakes) due(now int64, f func(uid string, at int64)) {
	for len(*w) > 0 && (*w)[0].at <= now {
		m := heap.Pop(w).(moment)
		f(m.uid, m.at)
	}
}

// wakeItem notes a moment at which a Job is to be judged again.
func (p *planner) wakeItem(it *item, at int64) {
	if at > p.Now && (it.wakeAt == 0 || at < it.wakeAt) {
		it.wakeAt = at
		heap.Push(&p.wakes, moment{at, it.job.UID})
	}
}

// nextWake is the first of the moments that still count.
func (p *planner) nextWake() {
	for len(p.wakes) > 0 {
		if m := p.wakes[0]; p.items[m.uid] != nil && p.items[m.uid].wakeAt == m.at {
			p.wake(m.at)
			return
		}
		heap.Pop(&p.wakes)
	}
}
