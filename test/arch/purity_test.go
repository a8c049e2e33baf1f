package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// impure parts of the standard library: what they answer depends on more than
// the arguments, or reaches outside.
func impure() []string {
	return []string{
		"context", "crypto/rand", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "os/exec", "sync",
	}
}

// clocks are the functions of package time that look at one.
func clocks() []string {
	return []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}
}

func TestPurePackagesHaveNoClockAndNoWayOut(t *testing.T) {
	for _, row := range Table() {
		if !row.Pure {
			continue
		}
		for _, file := range goFiles(t) {
			if filepath.ToSlash(filepath.Dir(file)) == row.Package && !strings.HasSuffix(file, "_test.go") {
				checkPure(t, file, row)
			}
		}
	}
}

func checkPure(t *testing.T, file string, row Row) {
	t.Helper()
	for _, found := range impurities(t, file, read(t, file)) {
		t.Errorf("%s, but %s is pure: it keeps out %s. Try: take it as an argument", found, row.Package, row.Never)
	}
}

// impurities of a file, each with its place.
func impurities(t *testing.T, file string, text []byte) []string {
	t.Helper()
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, spec := range tree.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); slices.Contains(impure(), path) {
			found = append(found, file+" imports "+path)
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && looksAtClock(s) {
			found = append(found, set.Position(s.Pos()).String()+": time."+s.Sel.Name)
		}
		return true
	})
	return found
}

func looksAtClock(s *ast.SelectorExpr) bool {
	from, ok := s.X.(*ast.Ident)
	return ok && from.Name == "time" && slices.Contains(clocks(), s.Sel.Name)
}
