package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, file := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(withoutCode(read(t, file)), -1) {
			checkLink(t, file, found[1])
		}
	}
}

func checkLink(t *testing.T, file, target string) {
	t.Helper()
	if strings.Contains(target, "://") {
		return
	}
	name, anchor, _ := strings.Cut(target, "#")
	to := file
	if name != "" {
		to = path.Join(path.Dir(file), name)
	}
	if _, err := os.Stat(filepath.Join(root(t), to)); err != nil {
		t.Errorf("%s links to %s, which is not there", file, target)
		return
	}
	if anchor != "" && !anchors(read(t, to))[anchor] {
		t.Errorf("%s links to %s, which has no such heading", file, target)
	}
}

// anchors of the headings, as GitHub makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	drop := regexp.MustCompile(`[^a-z0-9 _-]`)
	for line := range strings.Lines(withoutCode(text)) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			name := drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			found[strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	return found
}

// withoutCode leaves out fenced blocks, where brackets mean something else.
func withoutCode(text string) string {
	var kept []string
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			inside = !inside
			continue
		}
		if !inside {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// documents are README, CONTRIBUTING and everything in docs.
func documents(t *testing.T) []string {
	t.Helper()
	found := []string{"README.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir(filepath.Join(root(t), "docs"), func(file string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".md" {
			return err
		}
		relative, err := filepath.Rel(root(t), file)
		found = append(found, filepath.ToSlash(relative))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func root(t *testing.T) string {
	t.Helper()
	top, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return top
}
