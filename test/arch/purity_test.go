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
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, filepath.Join(root(t), file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, spec := range tree.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); slices.Contains(impure(), path) {
			t.Errorf("%s imports %s, but %s is pure: it keeps out %s", file, path, row.Package, row.Never)
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if call, ok := n.(*ast.SelectorExpr); ok && looksAtClock(call) {
			t.Errorf("%s:%d: time.%s, but %s is pure. Try: take the moment as an argument",
				file, set.Position(call.Pos()).Line, call.Sel.Name, row.Package)
		}
		return true
	})
}

func looksAtClock(s *ast.SelectorExpr) bool {
	from, ok := s.X.(*ast.Ident)
	return ok && from.Name == "time" && slices.Contains(clocks(), s.Sel.Name)
}
