package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/record"
)

// Answer is what a policy said: a result, or why there is none.
type Answer struct {
	Result any           `json:"result,omitempty"`
	Error  *record.Error `json:"error,omitempty"`
}

// Difference is one decision that would be another.
type Difference struct {
	DecisionID string           `json:"decisionID,omitempty"`
	Timestamp  time.Time        `json:"timestamp"`
	Entrypoint string           `json:"entrypoint"`
	Workload   *record.Workload `json:"workload,omitempty"`
	// Kinds say in which way: classify.queue, denied, no longer denied, …
	Kinds  []string `json:"kinds"`
	Before Answer   `json:"before"`
	After  Answer   `json:"after"`
}

// Report is what a replay found.
type Report struct {
	Revision string `json:"revision"`
	Records  int    `json:"records"`
	Same     int    `json:"same"`
	Changed  int    `json:"changed"`
	// Jobs are how many of them the changed ones are about.
	Jobs  int            `json:"jobs"`
	Kinds map[string]int `json:"kinds"`
	// Skipped are records that can't be asked again, by cause.
	Skipped map[string]int `json:"skipped"`
	// Untried are entrypoints for which the policy has rules of its own, and that
	// no record asked.
	Untried     []string     `json:"untried,omitempty"`
	Differences []Difference `json:"differences"`

	given given
	jobs  map[string]bool
}

// Run asks a policy what the records say another one was asked.
func Run(ctx context.Context, records io.Reader, policy *engine.Revision) (*Report, error) {
	report := &Report{Revision: policy.Digest(), Kinds: map[string]int{}, Skipped: map[string]int{}, Differences: []Difference{}, given: given{}, jobs: map[string]bool{}}
	asked := map[string]bool{}
	err := record.Read(records, func(r record.Record) error {
		asked[entrypointOf(r)] = true
		return report.add(ctx, r, policy)
	})
	if err != nil {
		return nil, err
	}
	for _, entrypoint := range []string{"classify", "deny", "hold", "mutate", "protect", "warn"} {
		if !asked[entrypoint] && policy.HasOwn(entrypoint) {
			report.Untried = append(report.Untried, entrypoint)
		}
	}
	return report, nil
}

func (report *Report) add(ctx context.Context, r record.Record, policy *engine.Revision) error {
	report.Records++
	entrypoint := entrypointOf(r)
	input, ok := r.Input.(map[string]any)
	switch {
	case len(r.Erased) > 0:
		report.Skipped["a mask took out a part of it"]++
		return nil
	case !ok:
		report.Skipped["it has no input"]++
		return nil
	}
	if why := report.given.another(ctx, r, input, policy); why != "" {
		report.Skipped[why]++
		return nil
	}
	result, missing, err := policy.Answer(ctx, entrypoint, input)
	if len(missing) > 0 {
		report.Skipped["the new policy reads input."+strings.Join(missing, ", input.")+", which was not recorded"]++
		return nil
	}
	after := Answer{Result: result}
	if err != nil {
		failed, blamed := failure(err)
		if !blamed {
			return fmt.Errorf("asking %s about record %s: %w", entrypoint, r.DecisionID, err)
		}
		after = Answer{Error: failed}
	}
	before := Answer{Result: r.Result, Error: r.Error}
	kinds, err := Compare(entrypoint, before, after)
	if err != nil {
		return err
	}
	if entrypoint == "mutate" {
		report.given.note(r, len(kinds) > 0)
	}
	if len(kinds) == 0 {
		report.Same++
		return nil
	}
	report.Changed++
	if w := r.Holdshort.Workload; w != nil {
		report.jobs[w.Namespace+"/"+w.Name] = true // the webhook knows no UID yet
		report.Jobs = len(report.jobs)
	}
	for _, kind := range kinds {
		report.Kinds[kind]++
	}
	report.Differences = append(report.Differences, Difference{DecisionID: r.DecisionID, Timestamp: r.Timestamp,
		Entrypoint: entrypoint, Workload: r.Holdshort.Workload, Kinds: kinds, Before: before, After: after})
	return nil
}

func entrypointOf(r record.Record) string {
	if r.Holdshort.Entrypoint != "" {
		return r.Holdshort.Entrypoint
	}
	return strings.TrimPrefix(r.Path, "holdshort/policy/")
}

func failure(err error) (*record.Error, bool) {
	var failed *engine.EvalError
	if !errors.As(err, &failed) {
		return nil, false
	}
	return &record.Error{Code: failed.Code, Message: failed.Entrypoint + ": " + failed.Message, At: failed.At}, true
}

// Compare says in which ways two answers of an entrypoint differ; nothing if
// they don't. Where an error is said differently, that is no difference.
func Compare(entrypoint string, before, after Answer) ([]string, error) {
	switch {
	case before.Error != nil && after.Error != nil:
		return nil, nil
	case after.Error != nil:
		return []string{entrypoint + " fails"}, nil
	case before.Error != nil:
		return []string{entrypoint + " fails no longer"}, nil
	}
	old, err := plain(before.Result)
	if err != nil {
		return nil, err
	}
	fresh, err := plain(after.Result)
	if err != nil {
		return nil, err
	}
	if entrypoint == "mutate" {
		old, fresh = withoutEmpty(old), withoutEmpty(fresh)
	}
	if fields, ok := fresh.(map[string]any); ok {
		had, _ := old.(map[string]any)
		return changedFields(entrypoint, had, fields), nil
	}
	return changedReasons(entrypoint, codes(old), codes(fresh), reflect.DeepEqual(old, fresh)), nil
}

// plain brings results of two makings into one form.
func plain(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("comparing results: %w", err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var same any
	if err := decoder.Decode(&same); err != nil {
		return nil, fmt.Errorf("comparing results: %w", err)
	}
	return same, nil
}

func changedFields(entrypoint string, before, after map[string]any) []string {
	var kinds []string
	for name := range before {
		if _, still := after[name]; !still {
			kinds = append(kinds, entrypoint+"."+name)
		}
	}
	for name, value := range after {
		if was, there := before[name]; !there || !reflect.DeepEqual(was, value) {
			kinds = append(kinds, entrypoint+"."+name)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// changedReasons: whether it is refused at all matters most, then by which codes.
func changedReasons(entrypoint string, before, after []string, same bool) []string {
	done := map[string]string{"deny": "denied", "warn": "warned", "hold": "held", "protect": "protected"}[entrypoint]
	switch {
	case same:
		return nil
	case len(before) == 0:
		return []string{"newly " + done}
	case len(after) == 0:
		return []string{"no longer " + done}
	case !slices.Equal(before, after):
		return []string{done + " for other reasons"}
	}
	return []string{done + " in other words"}
}

func codes(reasons any) []string {
	var all []string
	list, _ := reasons.([]any)
	for _, item := range list {
		reason, _ := item.(map[string]any)
		code, _ := reason["code"].(string)
		all = append(all, code)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
