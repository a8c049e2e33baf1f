package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"sync"
)

// memoMax is how many answers a revision remembers, twice.
const memoMax = 4096

// memoKey is a SHA-256 of everything that an answer depends on.
type memoKey [32]byte

// memo remembers answers: webhook and ledger ask the same of every Job, and many
// Jobs are alike. When it is full it begins anew and keeps what is still asked
// for.
type memo struct {
	mu       sync.Mutex
	now, old map[memoKey]said
}

func newMemo() *memo { return &memo{now: map[memoKey]said{}} }

func (m *memo) get(key memoKey) (said, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.now[key]
	if !ok {
		if s, ok = m.old[key]; ok {
			m.keep(key, s)
		}
	}
	return s, ok
}

func (m *memo) put(key memoKey, s said) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(key, s)
}

func (m *memo) keep(key memoKey, s said) {
	if len(m.now) >= memoMax {
		m.now, m.old = make(map[memoKey]said, memoMax), m.now
	}
	m.now[key] = s
}

// digester writes a document so that two get the same sum only if the rules
// would see the same in them: every value carries its type and length, maps are
// sorted.
type digester struct {
	encoder   *encoder
	text      []byte
	uncertain bool // something that it can't write
}

// usualDigest is how much is written of most documents.
const usualDigest = 512

func newDigester(e *encoder) *digester {
	return &digester{encoder: e, text: make([]byte, 0, usualDigest)}
}

func (d *digester) key() memoKey { return sha256.Sum256(d.text) }

// document writes what the view sees of the struct that a pointer leads to,
// without some parts.
func (d *digester) document(document any, seen *view, without []string) {
	if len(without) > 0 {
		some := newView()
		for _, f := range d.encoder.in(reflect.TypeOf(document).Elem(), seen) {
			if !slices.Contains(without, f.name) {
				some.parts[f.name] = f.part
			}
		}
		seen = some
	}
	d.value(reflect.ValueOf(document).Elem(), seen)
}

func (d *digester) tag(kind byte, n uint64) {
	d.text = binary.AppendUvarint(append(d.text, kind), n)
}

func (d *digester) word(s string) {
	d.tag('s', uint64(len(s)))
	d.text = append(d.text, s...)
}

func (d *digester) value(v reflect.Value, seen *view) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			d.tag('0', 0)
			return
		}
		d.value(v.Elem(), seen)
	case reflect.Interface:
		d.plain(v.Interface(), seen)
	case reflect.Struct:
		d.object(v, seen)
	case reflect.Map:
		d.mapping(v, seen)
	case reflect.Slice:
		d.tag('l', uint64(v.Len()))
		for i := range v.Len() {
			d.value(v.Index(i), d.encoder.whole)
		}
	case reflect.String:
		d.word(v.String())
	case reflect.Int64:
		d.tag('i', uint64(v.Int()))
	case reflect.Bool:
		d.flag(v.Bool())
	default:
		d.uncertain = true
	}
}

func (d *digester) flag(b bool) {
	if b {
		d.tag('b', 1)
	} else {
		d.tag('b', 0)
	}
}

func (d *digester) object(v reflect.Value, seen *view) {
	fields := d.encoder.in(v.Type(), seen)
	if fields == nil {
		d.uncertain = true
		return
	}
	d.tag('o', 0)
	for i := range fields {
		f := &fields[i]
		if f.omit && v.Field(f.position).IsZero() {
			continue
		}
		d.word(f.name)
		d.value(v.Field(f.position), f.part)
	}
	d.tag('e', 0)
}

func (d *digester) mapping(v reflect.Value, seen *view) {
	switch m := v.Interface().(type) {
	case map[string]string:
		d.tag('o', 0)
		for _, key := range keysIn(m, seen) {
			d.word(key)
			d.word(m[key])
		}
		d.tag('e', 0)
		return
	case map[string]int64:
		d.tag('o', 0)
		for _, key := range keysIn(m, seen) {
			d.word(key)
			d.tag('i', uint64(m[key]))
		}
		d.tag('e', 0)
		return
	case map[string]any:
		d.plain(m, seen)
		return
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	d.tag('o', 0)
	for _, key := range keys {
		if part := seen.part(key.String()); part != nil {
			d.word(key.String())
			d.value(v.MapIndex(key), part)
		}
	}
	d.tag('e', 0)
}

// plain writes what a JSON document has in it.
func (d *digester) plain(value any, seen *view) {
	switch value := value.(type) {
	case nil:
		d.tag('0', 0)
	case string:
		d.word(value)
	case bool:
		d.flag(value)
	case int64:
		d.tag('i', uint64(value))
	case float64, json.Number, int:
		text, err := json.Marshal(value)
		d.uncertain = d.uncertain || err != nil
		d.tag('n', uint64(len(text)))
		d.text = append(d.text, text...)
	case []any:
		d.tag('l', uint64(len(value)))
		for _, item := range value {
			d.plain(item, d.encoder.whole)
		}
	case map[string]any:
		d.tag('o', 0)
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if part := seen.part(key); part != nil {
				d.word(key)
				d.plain(value[key], part)
			}
		}
		d.tag('e', 0)
	default:
		d.uncertain = true
	}
}
