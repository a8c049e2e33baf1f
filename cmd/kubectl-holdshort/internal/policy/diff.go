package policy

import (
	"fmt"
	"strings"
)

// contextRows are shown around a change.
const contextRows = 3

// edit is a row of a diff: ' ' in both, '-' only before, '+' only after.
type edit struct {
	sign rune
	text string
}

// diff is what patch(1) reads.
func diff(name, before, after string) string {
	edits := edits(rowsOf(before), rowsOf(after))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	for from := 0; ; {
		first, last := hunk(edits, from)
		if first < 0 {
			return b.String()
		}
		writeHunk(&b, edits, first, last)
		from = last
	}
}

func rowsOf(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// edits turn a into b by a longest common subsequence. Rules are short, so that
// the square of their length is little.
func edits(a, b []string) []edit {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var list []edit
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			list = append(list, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			list = append(list, edit{'-', a[i]})
			i++
		default:
			list = append(list, edit{'+', b[j]})
			j++
		}
	}
	return list
}

// hunk is the next run of changes with what stands around it; -1 if there is none.
func hunk(edits []edit, from int) (first, last int) {
	first = -1
	for i := from; i < len(edits); i++ {
		if edits[i].sign == ' ' {
			continue
		}
		if first < 0 {
			first = max(from, i-contextRows)
		} else if i > last+contextRows {
			break
		}
		last = min(len(edits), i+1+contextRows)
	}
	return first, last
}

func writeHunk(b *strings.Builder, edits []edit, first, last int) {
	before, after := 1, 1
	for _, e := range edits[:first] {
		if e.sign != '+' {
			before++
		}
		if e.sign != '-' {
			after++
		}
	}
	removed, added := 0, 0
	for _, e := range edits[first:last] {
		if e.sign != '+' {
			removed++
		}
		if e.sign != '-' {
			added++
		}
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", before, removed, after, added)
	for _, e := range edits[first:last] {
		fmt.Fprintf(b, "%c%s\n", e.sign, e.text)
	}
}
