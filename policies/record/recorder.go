package record

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// lastMax is of how many questions the last answer is remembered, twice.
const lastMax = 16384

// Options of a recorder; zeros mean nothing or none.
type Options struct {
	// Size is how many records are kept in memory.
	Size int
	// File to append to; FileBytes is how large it may become before it is put
	// aside, Files how many of those that were are kept.
	File      string
	FileBytes int64
	Files     int
	// Masks are JSON pointers of what is left out.
	Masks []string
	// Every is which of the repeats of an answer is recorded: 100 for one in a
	// hundred.
	Every  int
	Labels map[string]string
	// Failed is told when a record was lost.
	Failed func(error)
}

// Recorder keeps records. Many goroutines may use it at once.
type Recorder struct {
	options Options
	masks   []mask

	mu        sync.Mutex
	ring      [][]byte // lines, oldest at next once it is full
	next      int
	file      *rotated
	last, old map[question]answer
}

// question is what was asked about whom.
type question struct{ entrypoint, namespace, name, uid string }

// answer is what was said the last time, and how often since it was recorded.
type answer struct {
	sum     [sha256.Size]byte
	repeats int
}

// New makes a recorder.
func New(options Options) (*Recorder, error) {
	masks, err := parseMasks(options.Masks)
	if err != nil {
		return nil, err
	}
	r := &Recorder{options: options, masks: masks, last: map[question]answer{}}
	if options.File != "" {
		if r.file, err = openRotated(options.File, options.FileBytes, options.Files); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Observe records a decision, unless it is a repeat that is left out.
func (r *Recorder) Observe(d engine.Decision) {
	if err := r.record(d); err != nil && r.options.Failed != nil {
		r.options.Failed(fmt.Errorf("a decision was not recorded: %w", err))
	}
}

func (r *Recorder) record(d engine.Decision) error {
	result, err := d.Result()
	if err != nil {
		return err
	}
	record := Record{
		Labels: r.options.Labels, Bundles: map[string]Bundle{"holdshort": {Revision: d.Revision}},
		Path: "holdshort/policy/" + d.Entrypoint, Result: result, Timestamp: d.At,
		Metrics: map[string]int64{"timer_rego_query_eval_ns": d.Took.Nanoseconds()},
		Holdshort: Holdshort{Contract: policies.Contract, Entrypoint: d.Entrypoint, Source: d.Source,
			Rules: rulesOf(d.Reasons), Shared: d.Shared},
	}
	asked := question{entrypoint: d.Entrypoint}
	if w := d.Workload; w != nil {
		record.Holdshort.Workload = &Workload{UID: w.UID, Namespace: w.Namespace, Name: w.Name}
		asked.namespace, asked.name, asked.uid = w.Namespace, w.Name, w.UID
	}
	if d.Err != nil {
		record.Error = &Error{Code: d.Err.Code, Message: d.Err.Entrypoint + ": " + d.Err.Message, At: d.Err.At}
	}
	said, err := json.Marshal([]any{record.Result, record.Error})
	if err != nil {
		return err
	}
	repeats, wanted := r.sample(asked, sha256.Sum256(said))
	if !wanted {
		return nil
	}
	record.Holdshort.Repeats, record.DecisionID = repeats, rand.Text()
	if record.Input, err = d.Input(); err != nil {
		return err
	}
	erase(&record, r.masks)
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return r.keep(append(line, '\n'))
}

func rulesOf(reasons []policies.Reason) []string {
	var rules []string
	for _, reason := range reasons {
		if reason.RuleAt != "" {
			rules = append(rules, reason.RuleAt)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// sample tells how often the same was said since the last record, and whether it
// is recorded now. What was forgotten counts as a change.
func (r *Recorder) sample(asked question, sum [sha256.Size]byte) (repeats int, wanted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.last[asked]
	if !known {
		before, known = r.old[asked]
	}
	now := answer{sum: sum, repeats: before.repeats + 1}
	if !known || before.sum != sum {
		now.repeats, wanted = 0, true
		repeats = before.repeats
	} else if r.options.Every > 0 && now.repeats >= r.options.Every {
		repeats, now.repeats, wanted = now.repeats, 0, true
	}
	if len(r.last) >= lastMax {
		r.last, r.old = map[question]answer{}, r.last
	}
	r.last[asked] = now
	return repeats, wanted
}

func (r *Recorder) keep(line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ring) < r.options.Size {
		r.ring = append(r.ring, line)
	} else if r.options.Size > 0 {
		r.ring[r.next] = line
		r.next = (r.next + 1) % r.options.Size
	}
	if r.file == nil {
		return nil
	}
	return r.file.write(line)
}

// Lines are the records in memory, oldest first.
func (r *Recorder) Lines() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.ring[r.next:], r.ring[:r.next])
}

// ServeHTTP gives the records in memory as JSON lines.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "records are read only", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	for _, line := range r.Lines() {
		if _, err := w.Write(line); err != nil {
			return // who asked has gone
		}
	}
}
