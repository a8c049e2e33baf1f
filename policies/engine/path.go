package engine

import (
	"slices"
	"strconv"
	"strings"
)

// fieldPath leads to a value inside a document: keys of objects, and indexes of
// arrays as numbers.
type fieldPath []string

// with is a new path; paths share no memory, since siblings extend the same one.
func (p fieldPath) with(segment string) fieldPath { return append(slices.Clip(p), segment) }

func (p fieldPath) at(index int) fieldPath { return p.with(strconv.Itoa(index)) }

// mostSegment leaves room in a message for what is wrong there. The names of
// labels, the longest that can be right, fit in.
const mostSegment = 320

// String is queues.research.quota.gpu["nvidia.com/gpu"].
func (p fieldPath) String() string {
	var text strings.Builder
	for i, segment := range p {
		segment = shorten(segment, mostSegment)
		switch {
		case !isPlain(segment):
			text.WriteString("[" + strconv.Quote(segment) + "]")
		case i > 0 && isNumber(segment):
			text.WriteString("[" + segment + "]")
		case i > 0:
			text.WriteString("." + segment)
		default:
			text.WriteString(segment)
		}
	}
	return text.String()
}

func isPlain(segment string) bool {
	return segment != "" && !strings.ContainsFunc(segment, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func isNumber(segment string) bool {
	_, err := strconv.Atoi(segment)
	return err == nil
}

// fieldProblem is something wrong inside a document.
type fieldProblem struct {
	path    fieldPath
	message string
	try     string
}

// nearest is the candidate that a misspelt word most likely means, or "".
func nearest(word string, candidates []string) string {
	best, bestDistance := "", max(len(word)/3, 1)+1
	for _, candidate := range candidates {
		d := editDistance(strings.ToLower(word), strings.ToLower(candidate))
		if swapped(word, candidate) {
			d = 1
		}
		if d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// swapped says whether two neighbours changed places (qouta), the commonest slip
// of all, which counts as two edits.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) - 1 {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

// editDistance counts insertions, deletions and substitutions, row by row
// (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
