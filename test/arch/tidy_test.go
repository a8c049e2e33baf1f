package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The limits of what a reader can hold in mind.
const (
	fileLinesMax     = 400
	functionLinesMax = 70
)

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	for _, file := range goFiles(t) {
		text := read(t, file)
		if generated(text) {
			continue
		}
		if lines := bytes.Count(text, []byte("\n")); lines > fileLinesMax {
			t.Errorf("%s has %d lines, at most %d. Try: two files, each about one thing", file, lines, fileLinesMax)
		}
		if !strings.HasSuffix(file, "_test.go") {
			checkFunctions(t, file, text)
		}
	}
}

func checkFunctions(t *testing.T, file string, text []byte) {
	t.Helper()
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, declaration := range tree.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if lines := set.Position(f.End()).Line - set.Position(f.Pos()).Line - 1; lines > functionLinesMax {
			t.Errorf("%s: %s has %d lines, at most %d. Try: name its parts", file, f.Name.Name, lines, functionLinesMax)
		}
	}
}

func generated(text []byte) bool {
	head := text[:min(len(text), 500)]
	return bytes.Contains(head, []byte("Code generated ")) && bytes.Contains(head, []byte("DO NOT EDIT"))
}

func TestPackagesSayWhatTheyAreFor(t *testing.T) {
	documented := map[string]bool{}
	for _, file := range goFiles(t) {
		dir, base := filepath.Split(file)
		if strings.HasSuffix(base, "_test.go") {
			continue
		}
		if _, seen := documented[dir]; !seen {
			documented[dir] = false
		}
		if base == "doc.go" {
			documented[dir] = bytes.HasPrefix(read(t, file), []byte("//"))
		}
		if name := filepath.Base(filepath.Dir(file)); slices.Contains([]string{"util", "utils", "common", "helpers", "types"}, name) {
			t.Errorf("%s: a package called %s is about nothing. Try: name it after what it gives", file, name)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(documented)) {
		if !documented[dir] {
			t.Errorf("%s has no doc.go with a package comment. Try: ten lines on what it is for and what it keeps out", dir)
		}
	}
}

// outside matches what only exists where somebody develops. Written so that it
// does not match itself.
func outside() *regexp.Regexp {
	return regexp.MustCompile(`(^|[^A-Za-z0-9_.$}/-])/(wor[k]|roo[t]|far[m]|hom[e]/[a-z]+)/|\.\./share[d]\b`)
}

func TestNoPathOfSomebodysMachine(t *testing.T) {
	pattern := outside()
	for _, file := range files(t) {
		text := read(t, file)
		if bytes.IndexByte(text, 0) >= 0 {
			continue // not a text
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if found := pattern.Find(line); found != nil {
				t.Errorf("%s:%d: %q is a path that others don't have", file, i+1, bytes.TrimSpace(found))
			}
		}
	}
}

// files of the project, relative to its root. Folders that begin with a dot or
// hold what was built are left out.
func files(t *testing.T) []string {
	t.Helper()
	top := root(t)
	var found []string
	err := filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != top && (name == "bin" || strings.HasPrefix(name, ".") && name != ".ci") {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.Type().IsRegular() && name != ".git" { // a file in a linked worktree
			relative, err := filepath.Rel(top, path)
			found = append(found, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// goFiles of this module; the modules nested below test/plane only build
// foreign binaries.
func goFiles(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(files(t), func(file string) bool {
		return !strings.HasSuffix(file, ".go") || strings.HasPrefix(file, "test/plane/build/") || strings.Contains(file, "/testdata/")
	})
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func root(t *testing.T) string {
	t.Helper()
	top, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return top
}
