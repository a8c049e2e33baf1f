package policy

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

func (p Plugin) printTests(dir string, tests *testrun.Report, f testFlags) error {
	switch f.format {
	case render.FormatJSON:
		_, err := render.Document(p.Streams.Out, f.format, testDocument(dir, tests))
		return err
	case formatJUnit:
		return printJUnit(p.Streams.Out, junitOf(dir, tests))
	}
	for i := range tests.Results {
		printTest(p.Streams.Out, &tests.Results[i], f.verbose)
	}
	if c := tests.Coverage; c != nil {
		printCoverage(p.Streams.Out, c)
	}
	if len(tests.Results) == 0 {
		fmt.Fprintf(p.Streams.ErrOut, "%s has no tests. Try: rules named test_… in a file *_test.rego; kubectl holdshort policy new shows some\n", dir)
		return nil
	}
	_, err := fmt.Fprintln(p.Streams.Out, summary(tests))
	return err
}

func summary(tests *testrun.Report) string {
	parts := []string{fmt.Sprintf("%d passed", tests.Count(testrun.Pass))}
	for _, o := range []struct {
		outcome testrun.Outcome
		text    string
	}{{testrun.Fail, "failed"}, {testrun.Broken, "gave no answer"}, {testrun.Skipped, "skipped"}} {
		if n := tests.Count(o.outcome); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o.text))
		}
	}
	return strings.Join(parts, ", ")
}

func printTest(w io.Writer, r *testrun.Result, verbose bool) {
	if r.Outcome == testrun.Pass && !verbose {
		return
	}
	fmt.Fprintf(w, "%-5s %s:%d: %s\n", strings.ToUpper(string(r.Outcome)), r.File, r.Row, r.Name)
	fmt.Fprint(w, details(r))
	if r.Output != "" {
		fmt.Fprintf(w, "      printed\n%s", indent(r.Output))
	}
}

// details say why a test did not pass.
func details(r *testrun.Result) string {
	var b strings.Builder
	if r.Message != "" {
		fmt.Fprintf(&b, "      %s. Try: %s\n", r.Message, r.Try)
	}
	for i, d := range r.Differences {
		if i == 1 {
			b.WriteString("      on the way, these did not hold either\n")
		}
		fmt.Fprintf(&b, "      %s:%d\n%s", d.File, d.Row, indent(d.Text))
	}
	return b.String()
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("        " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

func printCoverage(w io.Writer, c *testrun.Coverage) {
	fmt.Fprintf(w, "%.1f %% of the rules' rows covered\n", c.Percent)
	for _, f := range c.Files {
		if len(f.Missed) > 0 {
			fmt.Fprintf(w, "  %s: %.1f %%, not reached: %s\n", f.File, f.Percent, rows(f.Missed))
		}
	}
	for _, r := range c.Untested {
		if testrun.IsTest(r.Name) {
			fmt.Fprintf(w, "  %s:%d: %s is no test here but a rule: tests count in *_test.rego only\n", r.File, r.Row, r.Name)
			continue
		}
		fmt.Fprintf(w, "  %s:%d: no test makes this rule (%s) true\n", r.File, r.Row, r.Name)
	}
}

// rows joins what touches, so that a rule is one range and not ten rows.
func rows(missed []testrun.RowRange) string {
	var ranges []testrun.RowRange
	for _, m := range missed {
		if last := len(ranges) - 1; last >= 0 && m.From <= ranges[last].To+1 {
			ranges[last].To = max(ranges[last].To, m.To)
		} else {
			ranges = append(ranges, m)
		}
	}
	var parts []string
	word := "row "
	for i, r := range ranges {
		if r.From != r.To || i > 0 {
			word = "rows "
		}
		if r.From == r.To {
			parts = append(parts, strconv.Itoa(r.From))
		} else {
			parts = append(parts, fmt.Sprintf("%d–%d", r.From, r.To))
		}
	}
	return word + strings.Join(parts, ", ")
}

// policyTests is what -o json shows.
type policyTests struct {
	report.Kind
	Bundle string       `json:"bundle"`
	OK     bool         `json:"ok"`
	Tests  []policyTest `json:"tests"`
	// Problems are why no test could run.
	Problems []Problem         `json:"problems,omitempty"`
	Coverage *testrun.Coverage `json:"coverage,omitempty"`
}

// policyTest is one test.
type policyTest struct {
	Package     string               `json:"package"`
	Name        string               `json:"name"`
	File        string               `json:"file"`
	Row         int                  `json:"row"`
	Outcome     testrun.Outcome      `json:"outcome"` // pass, fail, error or skip
	Message     string               `json:"message,omitempty"`
	Try         string               `json:"try,omitempty"`
	Differences []testrun.Difference `json:"differences,omitempty"`
	Output      string               `json:"output,omitempty"`
	Seconds     float64              `json:"seconds"`
}

func testKind() report.Kind { return report.Kind{APIVersion: report.APIVersion, Kind: "PolicyTests"} }

func testDocument(dir string, tests *testrun.Report) policyTests {
	document := policyTests{
		Kind: testKind(), Bundle: dir, OK: tests.OK(), Tests: []policyTest{}, Coverage: tests.Coverage,
	}
	for _, r := range tests.Results {
		document.Tests = append(document.Tests, policyTest{
			Package: r.Package, Name: r.Name, File: r.File, Row: r.Row, Outcome: r.Outcome, Message: r.Message, Try: r.Try,
			Differences: r.Differences, Output: r.Output, Seconds: r.Duration.Seconds(),
		})
	}
	return document
}

// The elements that readers of JUnit reports agree on.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	File    string     `xml:"file,attr"`
	Line    int        `xml:"line,attr"`
	Seconds string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *struct{}  `xml:"skipped"`
	Output  string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// uncompiled is a policy of which no test could run: one case that is an error,
// since a report without cases counts as a good one.
func uncompiled(dir string, bad *engine.BundleError) junitSuite {
	first := bad.Problems[0]
	return junitSuite{Name: dir, Tests: 1, Errors: 1, Cases: []junitCase{{
		Class: dir, Name: "compile", File: first.File, Line: first.Row, Seconds: "0.000000",
		Error: &junitText{Message: first.String(), Text: bad.Error()},
	}}}
}

func junitOf(dir string, tests *testrun.Report) junitSuite {
	suite := junitSuite{
		Name: dir, Tests: len(tests.Results), Failures: tests.Count(testrun.Fail),
		Errors: tests.Count(testrun.Broken), Skipped: tests.Count(testrun.Skipped),
	}
	for i := range tests.Results {
		r := &tests.Results[i]
		c := junitCase{
			Class: r.Package, Name: r.Name, File: r.File, Line: r.Row, Output: r.Output,
			Seconds: fmt.Sprintf("%.6f", r.Duration.Seconds()),
		}
		switch r.Outcome {
		case testrun.Fail:
			c.Failure = &junitText{Message: fmt.Sprintf("%s:%d%s", r.File, r.Row, r.Because()), Text: details(r)}
		case testrun.Broken:
			c.Error = &junitText{Message: r.Message, Text: details(r)}
		case testrun.Skipped:
			c.Skipped = &struct{}{}
		case testrun.Pass:
		}
		suite.Cases = append(suite.Cases, c)
	}
	return suite
}

func printJUnit(w io.Writer, suite junitSuite) error {
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return fmt.Errorf("writing JUnit: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
