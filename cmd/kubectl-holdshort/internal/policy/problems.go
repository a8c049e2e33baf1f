package policy

import (
	"errors"
	"fmt"
	"io"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/policies/engine"
)

// Problem is one as -o json shows it.
type Problem struct {
	File    string `json:"file,omitempty"`
	Row     int    `json:"row,omitempty"`
	Col     int    `json:"col,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Try     string `json:"try,omitempty"`
	Line    string `json:"line,omitempty"`
}

func problemsOf(found []engine.Problem) []Problem {
	list := make([]Problem, 0, len(found))
	for _, p := range found {
		list = append(list, Problem{p.File, p.Row, p.Col, p.Code, p.Message, p.Try, p.Line})
	}
	return list
}

// printProblems writes each in the manager's words, with its source line.
func printProblems(w io.Writer, found []engine.Problem) {
	if len(found) > 0 {
		fmt.Fprintln(w, (&engine.BundleError{Problems: found}).Error())
	}
}

// withCodes adds the codes, by which a lint can be looked up. A prefix marks what
// does not keep a policy from being put into force.
func withCodes(found []engine.Problem, prefix string) []engine.Problem {
	marked := make([]engine.Problem, len(found))
	for i, p := range found {
		p.Message = prefix + p.Message + " (" + p.Code + ")"
		marked[i] = p
	}
	return marked
}

// refusal prints the problems of a policy that does not compile, where a command
// needs one that does.
func (p Plugin) refusal(err error, dir string) error {
	var bad *engine.BundleError
	if !errors.As(err, &bad) {
		return err
	}
	printProblems(p.Streams.Out, bad.Problems)
	return wouldBeRefused(dir)
}

// refusalAs is refusal for a command that may print JSON: then a document of what
// check says, and no prose.
func (p Plugin) refusalAs(err error, dir, format string) error {
	var bad *engine.BundleError
	if format != render.FormatJSON || !errors.As(err, &bad) {
		return p.refusal(err, dir)
	}
	if _, err := render.Document(p.Streams.Out, format, policyCheck{
		Kind:   report.Kind{APIVersion: report.APIVersion, Kind: "PolicyCheck"},
		Bundle: dir, Problems: problemsOf(bad.Problems), Warnings: []Problem{},
	}); err != nil {
		return err
	}
	return wouldBeRefused(dir)
}

func wouldBeRefused(dir string) error {
	return failure.New("kubectl holdshort policy check "+dir+" when it is mended", "%s would be refused", dir)
}

func checkFormat(format string, known ...string) error {
	if format == render.FormatText {
		return nil
	}
	for _, k := range known {
		if k == format {
			return nil
		}
	}
	try := known[0]
	for _, k := range known[1:] {
		try += " or " + k
	}
	return failure.New("-o "+try, "-o %s is not a format of this command", format)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
