package book

import "github.com/holdshort/holdshort/ledger/quota"

// journal is what changed of late, so that whoever reads the book again need not
// read all of it.
type journal struct {
	entries log[*Entry]
	rows    log[quota.Key]
}

// log is the newest part of a list that only grows.
type log[T any] struct {
	start uint64 // what lies before is forgotten
	list  []T
}

// logMax is how much of a log is kept at least; a reader who is further behind
// reads the whole book.
const logMax = 4096

func (l *log[T]) add(v T) {
	if len(l.list) >= 2*logMax {
		l.list = append(l.list[:0], l.list[logMax:]...)
		l.start += logMax
	}
	l.list = append(l.list, v)
}

// forget has everybody be further behind than is known.
func (l *log[T]) forget() {
	l.start, l.list = l.end()+1, nil
}

func (l *log[T]) end() uint64 { return l.start + uint64(len(l.list)) }

// since is what came after a mark; false if not all of that is known any more.
func (l *log[T]) since(mark uint64) ([]T, bool) {
	if mark < l.start {
		return nil, false
	}
	return l.list[mark-l.start:], true
}

// Mark is how far somebody has read.
type Mark struct{ entries, rows uint64 }

// News is what changed after a mark.
type News struct {
	// All: so much changed that everything is to be read again.
	All bool
	// Entries that changed in any way, some of them more than once.
	Entries []*Entry
	// Rows whose charge changed, or, without flavor and resource, queues that
	// admitted other Jobs.
	Rows []quota.Key
	// Mark for the next time.
	Mark Mark
}

// Since tells what changed after a mark; the zero mark is before everything. It is
// good until the book changes.
func (s *Snapshot) Since(m Mark) News {
	j := &s.b.journal
	entries, known := j.entries.since(m.entries)
	rows, knownRows := j.rows.since(m.rows)
	return News{
		All: !known || !knownRows || m == Mark{}, Entries: entries, Rows: rows,
		Mark: Mark{j.entries.end(), j.rows.end()},
	}
}

// Queues tells whether an entry is a Job that waits.
func (s *Snapshot) Queues(e *Entry) bool { _, ok := s.b.queued[e]; return ok }

// Counted is the queue that counts an entry as admitted, empty if none does.
func (e *Entry) Counted() string { return e.counted }
