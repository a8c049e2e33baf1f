package testrun

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdshort/holdshort/policies/engine"
)

// Outcome of a test.
type Outcome string

// The outcomes.
const (
	Pass    Outcome = "pass"
	Fail    Outcome = "fail"
	Broken  Outcome = "error" // it gave no answer
	Skipped Outcome = "skip"
)

// CodeTest is the code of a problem that is a test which does not pass.
const CodeTest = "test_failed"

// Result is what became of one test, or of one case of a test with cases.
type Result struct {
	Package string
	Name    string // test_x, or test_x/case
	File    string
	Row     int
	Outcome Outcome
	// Message and Try say why a test is Broken.
	Message, Try string
	// Differences say why it failed: first what of the test did not hold, then
	// what of the rules.
	Differences []Difference
	Output      string // what it printed
	Duration    time.Duration
}

// Report is a whole run, in the order of the files.
type Report struct {
	Results  []Result
	Coverage *Coverage // nil if it was not asked for
}

// Count is how many tests have an outcome.
func (r *Report) Count(o Outcome) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Outcome == o {
			n++
		}
	}
	return n
}

// OK says whether nothing speaks against the policy.
func (r *Report) OK() bool { return r.Count(Fail)+r.Count(Broken) == 0 }

// Failures are the tests that speak against a bundle, as problems of it.
func (r *Report) Failures() []engine.Problem {
	var found []engine.Problem
	for i := range r.Results {
		result := &r.Results[i]
		problem := engine.Problem{File: result.File, Row: result.Row, Code: CodeTest, Try: "kubectl holdshort policy test, which shows what differed"}
		switch result.Outcome {
		case Fail:
			problem.Message = fmt.Sprintf("the test %s fails%s", result.Name, result.Because())
		case Broken:
			problem.Message, problem.Try = fmt.Sprintf("the test %s gives no answer: %s", result.Name, result.Message), result.Try
		case Pass, Skipped:
			continue
		}
		found = append(found, problem)
	}
	return found
}

// Because goes on after the name of a test that failed: what of it did not hold.
func (r *Result) Because() string {
	if len(r.Differences) == 0 {
		return ": its body was not true"
	}
	expression, _, _ := strings.Cut(r.Differences[0].Text, "\n")
	return fmt.Sprintf(": in row %d, %.200s does not hold", r.Differences[0].Row, expression)
}
