package docs

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

const (
	computedMark = "<!-- computed: "
	computedEnd  = "<!-- end -->"
)

// example is what a page has said so far of a policy, machines and Jobs.
type example struct {
	files    map[string][]byte
	machines []map[string]string
	jobs     []map[string]string
	played   *played // of these; nil: not yet
}

// compute writes a page anew, with every answer as it comes out, and counts them.
//
// A block of YAML that begins with "holdshort:" is a policy; blocks of Rego after
// it belong to it. A table whose first column is "at" is Jobs, one with "machines"
// the machines; without it there is room for all on each flavor. A mark asks what
// comes of them, and what stands between it and its end is the answer.
func compute(ctx context.Context, page string) (string, int, error) {
	lines := strings.Split(page, "\n")
	var out []string
	x, count := &example{}, 0
	for i := 0; i < len(lines); {
		next, answer, err := x.read(ctx, lines, i)
		if err != nil {
			return "", 0, fmt.Errorf("line %d: %w", i+1, err)
		}
		if answer == "" {
			out = append(out, lines[i:next]...)
		} else {
			count++
			out = append(out, lines[i], "", answer, "", computedEnd)
		}
		i = next
	}
	return strings.Join(out, "\n"), count, nil
}

// read takes what begins at a line, and tells where the next thing does.
func (x *example) read(ctx context.Context, lines []string, at int) (next int, answer string, err error) {
	line := lines[at]
	switch {
	case line == "```yaml" || line == "```rego":
		end := find(lines, at+1, "```")
		x.code(line, strings.Join(lines[at+1:end], "\n")+"\n")
		return min(end+1, len(lines)), "", nil
	case strings.HasPrefix(line, "```"):
		return min(find(lines, at+1, "```")+1, len(lines)), "", nil
	case strings.HasPrefix(line, "|"):
		end := at
		for end < len(lines) && strings.HasPrefix(lines[end], "|") {
			end++
		}
		return end, "", x.table(lines[at:end])
	case strings.HasPrefix(line, computedMark):
		end := find(lines, at+1, computedEnd)
		if end == len(lines) {
			return 0, "", fmt.Errorf("no %s follows", computedEnd)
		}
		question := strings.TrimSuffix(strings.TrimPrefix(line, computedMark), " -->")
		answer, err := x.answer(ctx, question)
		return end + 1, answer, err
	}
	return at + 1, "", nil
}

func find(lines []string, from int, line string) int {
	for from < len(lines) && lines[from] != line {
		from++
	}
	return from
}

func (x *example) code(fence, text string) {
	switch {
	case strings.HasPrefix(text, "holdshort:"):
		*x = example{files: map[string][]byte{"data.yaml": []byte(text)}}
	case fence == "```rego" && x.files != nil:
		x.files[fmt.Sprintf("rule%d.rego", len(x.files))] = []byte(text)
		x.jobs, x.played = nil, nil
	}
}

// table takes one of Jobs or machines, and leaves all others to the reader.
func (x *example) table(lines []string) error {
	heads := cells(lines[0])
	var rows []map[string]string
	for _, line := range lines[min(2, len(lines)):] {
		row := map[string]string{}
		for i, cell := range cells(line) {
			if i < len(heads) {
				row[heads[i]] = strings.Trim(cell, "`")
			}
		}
		rows = append(rows, row)
	}
	switch {
	case heads[0] == "machines":
		x.machines, x.jobs, x.played = rows, nil, nil
	case heads[0] == "at" && len(heads) > 2 && heads[1] == "Job" && heads[2] == "queue":
		for _, head := range heads {
			if !slices.Contains([]string{"at", "Job", "queue", "pods", "class", "least", "deadline", "runs"}, head) {
				return fmt.Errorf("a table of Jobs has no column %q", head)
			}
		}
		x.jobs, x.played = rows, nil
	}
	return nil
}

func cells(line string) []string {
	var all []string
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		all = append(all, strings.TrimSpace(cell))
	}
	return all
}

// answer is what stands below a mark.
func (x *example) answer(ctx context.Context, question string) (string, error) {
	if x.files == nil {
		return "", fmt.Errorf("no policy stands before the question")
	}
	if x.played == nil {
		if len(x.jobs) == 0 {
			return "", fmt.Errorf("no Jobs stand between policy and question")
		}
		p, err := x.play(ctx)
		if err != nil {
			return "", err
		}
		x.played = p
	}
	what, when, _ := strings.Cut(question, " at ")
	if what, when, before := strings.Cut(question, " before "); before {
		return x.played.about(what, when, true)
	}
	return x.played.about(what, when, false)
}

// about answers a question about all the time, or the state at, or until, a moment.
func (p *played) about(what, when string, before bool) (string, error) {
	switch {
	case what == "what happens":
		return p.events(), nil
	case what == "over time":
		return p.chart(), nil
	case what == "when they start":
		return p.whenTheyStart(when)
	case what == "use":
		return p.use(when, before)
	case strings.HasPrefix(what, "manifest of "):
		return p.manifest(strings.TrimPrefix(what, "manifest of "))
	case strings.HasPrefix(what, "shares with "):
		return p.shares(strings.TrimPrefix(what, "shares with "), when, before)
	}
	return "", fmt.Errorf("nobody can answer %q", what)
}
