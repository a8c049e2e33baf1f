package engine

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Bundle is the text of a policy: files by name, and where they came from.
type Bundle struct {
	Source string
	Files  map[string][]byte
}

// Limits on the text of a bundle, in bytes. A revision is kept for restarts in
// one ConfigMap, which holds a mebibyte at most.
const (
	MaxBytes  = 900 << 10
	warnBytes = 700 << 10
)

// fileKind is what the engine does with a file.
type fileKind int

const (
	kindOther    fileKind = iota // README and the like: ignored
	kindModule                   // compiled
	kindData                     // merged into holdshort.config
	kindTest                     // run by testers, never part of the running policy
	kindScenario                 // played, likewise
)

func kindOf(name string) fileKind {
	base := path.Base(name)
	switch folders := strings.Split(path.Dir(name), "/"); {
	case isHidden(name):
		return kindOther
	case slices.Contains(folders, "tests"), strings.HasSuffix(base, "_test.rego"):
		return kindTest
	case slices.Contains(folders, "scenarios"), strings.HasSuffix(base, ".scenario.yaml"):
		return kindScenario
	case strings.HasSuffix(base, ".rego"):
		return kindModule
	}
	for _, ext := range []string{"yaml", "yml", "json"} {
		if base == "data."+ext || strings.HasSuffix(base, ".data."+ext) {
			return kindData
		}
	}
	return kindOther
}

// isHidden: a file, or a folder that it is in, begins with a dot.
func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != "." || strings.Contains(name, "/.")
}

// misplaced finds data where Rego's own tools would put it under the name of its
// folder.
func misplaced(name string) (Problem, bool) {
	if kindOf(name) != kindData || path.Dir(name) == "." {
		return Problem{}, false
	}
	return Problem{File: name, Code: CodeData, Message: "data belongs at the top of the bundle", Try: "move it beside data.yaml as " +
		strings.ReplaceAll(path.Dir(name), "/", "-") + ".data.yaml"}, true
}

// Size is the number of bytes of all files.
func (b Bundle) Size() int {
	total := 0
	for _, content := range b.Files {
		total += len(content)
	}
	return total
}

func (b Bundle) names() []string { return slices.Sorted(maps.Keys(b.Files)) }

func (b Bundle) namesOf(kind fileKind) []string {
	return slices.DeleteFunc(b.names(), func(name string) bool { return kindOf(name) != kind })
}

// clone guards a revision against a caller who goes on writing to its files.
func (b Bundle) clone() Bundle {
	files := make(map[string][]byte, len(b.Files))
	for name, content := range b.Files {
		files[name] = slices.Clone(content)
	}
	return Bundle{Source: b.Source, Files: files}
}

// checkSize refuses a bundle too big to keep, and warns of one close to it.
func (b Bundle) checkSize(limit int) (problems, warnings []Problem) {
	size := b.Size()
	advice := "move what no rule reads out of the bundle, or split teams' data from it"
	if size > limit {
		return []Problem{{Code: CodeSize, Try: advice,
			Message: fmt.Sprintf("the bundle has %d KiB, the limit is %d KiB", size>>10, limit>>10)}}, nil
	}
	if size > warnBytes {
		return nil, []Problem{{Code: CodeSize, Try: advice,
			Message: fmt.Sprintf("the bundle has %d KiB, close to the limit of %d KiB", size>>10, limit>>10)}}
	}
	return nil, nil
}
