package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Codes of problems that are the engine's; those of OPA begin with rego_ and eval_.
const (
	CodeSize     = "bundle_size"
	CodeSlow     = "bundle_slow"
	CodeEmpty    = "bundle_empty"
	CodeManifest = "bundle_manifest"
	CodeRoots    = "bundle_roots"
	// CodeSignature is about the signature of a bundle.
	CodeSignature = "bundle_signature"
	CodeData      = "data_error"
	CodeContract  = "contract_error"
	CodeReads     = "contract_reads"
	CodeType      = "contract_type"
	CodeReason    = "contract_reason"
	CodeCatalog   = "catalog_error"
	CodeInternal  = "internal_error"
	CodeMore      = "more" // how many problems are left out
)

// Problem is one thing wrong with a bundle. Row and Col count from 1 and are 0
// when the whole file, or the bundle, is meant.
type Problem struct {
	File    string
	Row     int
	Col     int
	Code    string
	Message string
	Try     string
	// Line is the text at Row.
	Line string
}

// String is one line: file:row: message. Try: advice.
func (p Problem) String() string {
	text := p.Message
	if at := position(p.File, p.Row); at != "" {
		text = at + ": " + text
	}
	if p.Try != "" {
		text += ". Try: " + p.Try
	}
	return text
}

func position(file string, row int) string {
	if file == "" || row == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, row)
}

// BundleError is everything wrong with a bundle, sorted by place.
type BundleError struct{ Problems []Problem }

// Error lists all problems, each with the source line it is about.
func (e *BundleError) Error() string {
	var text strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(p.String())
		if p.Line == "" {
			continue
		}
		fmt.Fprintf(&text, "\n\t%s", strings.ReplaceAll(p.Line, "\t", " "))
		if p.Col > 0 && p.Col <= mostLine {
			fmt.Fprintf(&text, "\n\t%s^", strings.Repeat(" ", p.Col-1))
		}
	}
	return text.String()
}

// Limits on what a bundle can make us say, so that it fits into events and logs.
const (
	mostProblems = 50
	mostMessage  = 400
	mostLine     = 160
)

func newBundleError(problems []Problem) *BundleError {
	for i := range problems {
		problems[i].Message = shorten(problems[i].Message, mostMessage)
		problems[i].Line = shorten(problems[i].Line, mostLine)
	}
	sortProblems(problems)
	problems = slices.Compact(problems)
	if left := len(problems) - mostProblems; left > 0 {
		problems = append(problems[:mostProblems:mostProblems], Problem{Code: CodeMore,
			Message: fmt.Sprintf("and %d more", left)})
	}
	return &BundleError{Problems: problems}
}

// shorten cuts between characters.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func sortProblems(problems []Problem) {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Try, b.Try))
	})
}

// quoteLines fills in the source lines.
func quoteLines(problems []Problem, files map[string][]byte) {
	split := map[string][]string{}
	for i, p := range problems {
		lines, done := split[p.File]
		if !done {
			lines = strings.Split(string(files[p.File]), "\n")
			split[p.File] = lines
		}
		if p.Row > 0 && p.Row <= len(lines) {
			problems[i].Line = strings.TrimRight(lines[p.Row-1], "\r")
		}
	}
}
