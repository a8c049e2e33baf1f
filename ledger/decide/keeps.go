package decide

import "slices"

// keeps: it did not fit, and kept something of its queue's own.
func (c *class) keeps() bool { return c.lends && c.failed != nil }

// unkeep opens the classes that others kept something from who may not do so any more,
// since their line begins again: another may be its first.
func (p *planner) unkeep() {
	for _, l := range p.order {
		if l.root != nil && l.moved && slices.ContainsFunc(l.watched, (*class).keeps) {
			l.root.unkept = true
		}
	}
	for _, l := range p.order {
		if l.root == nil || !l.root.unkept {
			continue
		}
		for _, c := range l.looks() {
			if c.failed != nil && !c.lends && !c.shut && p.might(c) {
				c.reopen(false)
				l.moved = true
			}
		}
		l.root.moves = l.root.moves || l.moved
	}
}

// comeAlong: a Job that keeps something of its queue's own as long as others have
// their turn has its turn with them.
func (p *planner) comeAlong(l *line) {
	// One that the line has passed over has it begin again.
	l.moved = l.moved || slices.ContainsFunc(l.watched, func(c *class) bool {
		return c.keeps() && (l.stopped == nil || l.stopped.class != c)
	})
	for _, c := range l.watched {
		if l.moved && c.keeps() {
			c.reopen(false)
		}
	}
	l.along = l.stopped != nil && l.stopped.class.lends
}
