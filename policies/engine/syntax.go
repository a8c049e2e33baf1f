package engine

import (
	"bytes"
	"errors"
	"io"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// syntaxProblem is yamlProblem with the row at which the text goes wrong: the
// parser names the beginning of what it could not finish, or the row before it.
func syntaxProblem(name string, content []byte, err error) *Problem {
	problem := yamlProblem(name, err)
	rows := bytes.SplitAfter(content, []byte("\n"))
	// Up to the row that is wrong, there is another error or none; from there on,
	// always this one.
	row := 1 + sort.Search(len(rows), func(i int) bool {
		found := parseAll(bytes.Join(rows[:i+1], nil))
		return found != nil && found.Error() == err.Error()
	})
	if row <= len(rows) && len(bytes.TrimSpace(rows[row-1])) > 0 {
		problem.Row = row
	}
	text := ""
	if problem.Row > 0 && problem.Row <= len(rows) {
		text = string(rows[problem.Row-1])
	}
	problem.Try = yamlAdvice(problem.Message, text)
	return problem
}

func parseAll(content []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// yamlAdvice is what to do about what the parser says of a row.
func yamlAdvice(message, row string) string {
	has := func(text string) bool { return strings.Contains(message, text) }
	indent := row[:len(row)-len(strings.TrimLeft(row, " \t"))]
	switch {
	case strings.Contains(indent, "\t"):
		return "spaces instead of the tab"
	case has("cannot start any token"):
		return "quotes around the text"
	case has("mapping values are not allowed"):
		return "a row of its own for each key, as far in as those beside it; quotes around a text that has a colon"
	case has("did not find expected key"), has("expected '-' indicator"), has("block mapping"), has("block sequence"):
		return "the row as far in as those that it belongs to"
	case has("flow mapping"), has("flow sequence"), has("expected ',' or"), has("node content"):
		return "the bracket, or the comma, that is missing"
	case has("quoted scalar"), has("unexpected end of stream"):
		return "the quote that is missing"
	case has("expected ':'"):
		return "a colon and a space after the key"
	case has("unknown anchor"):
		return "the anchor (&name) before it is used (*name)"
	}
	return "kubectl holdshort policy check, which shows the row; what is meant as text in quotes"
}
