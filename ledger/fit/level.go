package fit

import "iter"

// level divides the nodes by the value of one label; made when somebody first asks
// for it, and kept since.
type level struct {
	of    []int32          // the domain of each row, none if it has no such label
	ids   map[string]int32 // of the domains that have nodes
	names []string         // by domain
	rows  [][]int32        // by domain, in no order
	spare []int32          // domains without nodes, whose number can be used again
}

// none is the domain of a node that is in none.
const none = int32(-1)

// level is the domains by a label. It is always up to date: setLevels sees to it.
func (n *Nodes) level(key string) *level {
	l := n.levels[key]
	if l == nil {
		l = &level{ids: map[string]int32{}}
		n.levels[key] = l
		for i := range n.rows {
			l.set(int32(i), n.rows[i].label(key))
		}
	}
	return l
}

// setLevels notes that a row has another node, or its node other labels.
func (n *Nodes) setLevels(i int32) {
	for key, l := range n.levels {
		l.set(i, n.rows[i].label(key))
	}
}

// label is a label's value, empty where there is none. An empty value names no domain.
func (r *row) label(key string) string {
	if r.node == nil {
		return ""
	}
	return r.node.Labels[key]
}

func (l *level) set(i int32, name string) {
	for int(i) >= len(l.of) {
		l.of = append(l.of, none)
	}
	from := l.of[i]
	if from != none && l.names[from] == name || from == none && name == "" {
		return
	}
	if from != none {
		l.leave(i, from)
	}
	if l.of[i] = none; name != "" {
		l.of[i] = l.domain(name)
		l.rows[l.of[i]] = append(l.rows[l.of[i]], i)
	}
}

func (l *level) leave(i, domain int32) {
	rows := l.rows[domain]
	last := len(rows) - 1
	for k := range rows {
		if rows[k] == i {
			rows[k] = rows[last]
			break
		}
	}
	if l.rows[domain] = rows[:last]; last == 0 {
		delete(l.ids, l.names[domain])
		l.names[domain] = ""
		l.spare = append(l.spare, domain)
	}
}

func (l *level) domain(name string) int32 {
	if id, known := l.ids[name]; known {
		return id
	}
	var id int32
	if last := len(l.spare) - 1; last >= 0 {
		id, l.spare = l.spare[last], l.spare[:last]
		l.names[id] = name
	} else {
		id = int32(len(l.names))
		l.names, l.rows = append(l.names, name), append(l.rows, nil)
	}
	l.ids[name] = id
	return id
}

// rowsOf are the rows that may run a shape at most, if that is fewer than all: those
// of the domain that it selects.
func (n *Nodes) rowsOf(s *Shape) (rows []int32, fewer bool) {
	for key, value := range s.place.NodeSelector {
		l := n.levels[key]
		if l == nil || value == "" {
			continue
		}
		var here []int32
		if id, known := l.ids[value]; known {
			here = l.rows[id]
		}
		if !fewer || len(here) < len(rows) {
			rows, fewer = here, true
		}
	}
	return rows, fewer
}

// mayRun goes through the rows that may run a shape, and maybe others.
func (n *Nodes) mayRun(s *Shape) iter.Seq[int32] {
	rows, fewer := n.rowsOf(s)
	return func(yield func(int32) bool) {
		if !fewer {
			for i := range n.rows {
				if !yield(int32(i)) {
					return
				}
			}
			return
		}
		s.rejudge()
		for _, i := range rows {
			if !yield(i) {
				return
			}
		}
	}
}

// split is the slots of a table by the domains of one level.
type split struct {
	level *level
	in    []int32 // where each row was counted
	total []int64 // by domain
}

// splitOf is that of a shape's table, up to date.
func (r *Room) splitOf(s *Shape, l *level) (*slotTable, *split) {
	t := r.table(s)
	for _, p := range t.splits {
		if p.level == l {
			return t, p
		}
	}
	p := &split{level: l}
	t.splits = append(t.splits, p)
	p.recount(t)
	return t, p
}

func (p *split) recount(t *slotTable) {
	clear(p.in)
	clear(p.total)
	p.in, p.total = p.in[:0], p.total[:0]
	for i, slots := range t.rows {
		p.set(int32(i), 0, slots)
	}
}

// set notes that a row has room for other pods than before, or is elsewhere.
func (p *split) set(i int32, was, slots int64) {
	for int(i) >= len(p.in) {
		p.in = append(p.in, none)
	}
	if from := p.in[i]; from != none {
		p.total[from] -= was
	}
	to := none
	if int(i) < len(p.level.of) {
		to = p.level.of[i]
	}
	if p.in[i] = to; to == none {
		return
	}
	for int(to) >= len(p.total) {
		p.total = append(p.total, 0)
	}
	p.total[to] += slots
}
