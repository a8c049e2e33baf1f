package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Record is one decision. The names are those of OPA's decision logs.
type Record struct {
	Labels     map[string]string `json:"labels,omitempty"`
	DecisionID string            `json:"decision_id"`
	Bundles    map[string]Bundle `json:"bundles"`
	// Path is the entrypoint as OPA writes it: holdshort/policy/deny.
	Path   string `json:"path"`
	Input  any    `json:"input,omitempty"`
	Result any    `json:"result,omitempty"`
	// Erased are the pointers of what a mask took out.
	Erased    []string         `json:"erased,omitempty"`
	Error     *Error           `json:"error,omitempty"`
	Timestamp time.Time        `json:"timestamp"`
	Metrics   map[string]int64 `json:"metrics,omitempty"`
	Holdshort Holdshort        `json:"holdshort"`
}

// Bundle is which text of the policy decided.
type Bundle struct {
	Revision string `json:"revision"`
}

// Error is why there is no result.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	At      string `json:"at,omitempty"` // file:row
}

// Holdshort is what OPA has no name for.
type Holdshort struct {
	Contract   int       `json:"contract"`
	Entrypoint string    `json:"entrypoint"`
	Source     string    `json:"source,omitempty"`
	Workload   *Workload `json:"workload,omitempty"`
	// Rules that gave the reasons, file:row.
	Rules []string `json:"rules,omitempty"`
	// Shared: the answer was there from an earlier question that was the same.
	Shared bool `json:"shared,omitempty"`
	// Repeats is how often the same was said of this Job since its last record.
	Repeats int `json:"repeats,omitempty"`
}

// Workload is whom it was about.
type Workload struct {
	UID       string `json:"uid,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name,omitempty"`
}

// Read calls f with each record of a text with one in each line. Numbers are
// kept as they are written.
func Read(from io.Reader, f func(Record) error) error {
	lines := bufio.NewReader(from)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return fmt.Errorf("reading records: %w", err)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var record Record
			decoder := json.NewDecoder(bytes.NewReader(line))
			decoder.UseNumber()
			if err := decoder.Decode(&record); err != nil {
				return fmt.Errorf("line %d is not a record: %w. Try: one JSON object in each line, as /debug/decisions gives them", number, err)
			}
			if err := f(record); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
	}
}
