package fit

// Placed is how many pods of a gang a node is to take.
type Placed struct {
	Node string
	Pods int64
}

// Place finds nodes for all pods of a gang and uses up the room there, or
// returns false and changes nothing.
//
// Best fit: the node with the most room, until what is left fits one node; then
// the tightest that takes it all. So a gang is on few nodes and leaves the big
// gaps whole. Of equals, the first by name. Machines that are not there yet come
// after all that are.
func (r *Room) Place(s *Shape, pods int64) ([]Placed, bool) {
	t := r.table(s)
	if t.total < pods {
		return nil, false
	}
	var placed []Placed
	for left := pods; left > 0; {
		i := r.pick(t, left)
		n := min(left, t.rows[i])
		placed = append(placed, Placed{r.nodes.rows[i].name, n})
		r.take(s, i, n)
		left -= n
		if s.perNode > 0 {
			t.set(i, 0) // the gang has had its share of this node
			continue
		}
		t = r.table(s)
	}
	return placed, true
}

// Take uses up room for up to so many pods on a named node, and returns how
// many had room.
func (r *Room) Take(s *Shape, node string, pods int64) int64 {
	i, ok := r.nodes.byName[node]
	if !ok || pods <= 0 {
		return 0
	}
	t := r.table(s)
	if int(i) >= len(t.rows) {
		return 0
	}
	n := min(pods, t.rows[i])
	if n > 0 {
		r.take(s, i, n)
	}
	return n
}

// pick returns the row for the next pods of a gang; some row has room.
func (r *Room) pick(t *slotTable, left int64) int32 {
	most, tight := int32(-1), int32(-1)
	coming := true // so far
	for _, i := range r.nodes.inOrder() {
		if int(i) >= len(t.rows) || t.rows[i] == 0 {
			continue
		}
		switch later := r.nodes.rows[i].coming(); {
		case later && !coming:
			continue
		case coming && !later:
			most, tight, coming = -1, -1, false
		}
		n := t.rows[i]
		if most < 0 || n > t.rows[most] {
			most = i
		}
		if n >= left && (tight < 0 || n < t.rows[tight]) {
			tight = i
		}
	}
	if tight >= 0 {
		return tight
	}
	return most
}
