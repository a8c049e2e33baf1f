package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// goPackage is what go list tells of one package.
type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
	Error      *struct{ Err string }
}

// listed are the packages of this module and the standard library's paths.
func listed(t *testing.T) (ours []goPackage, standard map[string]bool) {
	t.Helper()
	command := exec.Command("go", "list", "-e", "-deps", "-tags", "plane",
		"-json=ImportPath,Standard,Imports,Deps,Error", "./...")
	command.Dir = root(t)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	standard = map[string]bool{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return ours, standard
		} else if err != nil {
			t.Fatalf("reading go list: %v", err)
		}
		switch {
		case p.Standard:
			standard[p.ImportPath] = true
		case p.ImportPath == module, strings.HasPrefix(p.ImportPath, module+"/"):
			ours = append(ours, p)
		}
	}
}

// rowOf is the row of the package, or of the nearest one above it.
func rowOf(rows []Row, path string) (Row, bool) {
	name := strings.TrimPrefix(path, module+"/")
	for {
		if i := slices.IndexFunc(rows, func(r Row) bool { return r.Package == name }); i >= 0 {
			return rows[i], true
		}
		cut := strings.LastIndex(name, "/")
		if cut < 0 {
			return Row{}, false
		}
		name = name[:cut]
	}
}

// TestImports asks go list once, since it takes seconds.
func TestImports(t *testing.T) {
	ours, standard := listed(t)
	for _, p := range ours {
		row, ok := rowOf(Table(), p.ImportPath)
		if !ok {
			t.Errorf("%s has no row in test/arch/table.go. Try: say there what it is for and what it may import", p.ImportPath)
			continue
		}
		checkImports(t, p, row, standard)
		checkDependencies(t, p, row)
	}
}

func checkImports(t *testing.T, p goPackage, row Row, standard map[string]bool) {
	t.Helper()
	for _, imported := range p.Imports {
		switch {
		case standard[imported], imported == "C":
		case within(imported, module+"/test") && row.Package != "test":
			t.Errorf("%s imports %s: the product must not need what tests it", p.ImportPath, imported)
		case !allowed(row, imported):
			t.Errorf("%s imports %s.\n\tIt may not, since it keeps out %s.\n\tTry: pass a value, or change the table of test/arch with an ADR that says why",
				p.ImportPath, imported, row.Never)
		}
	}
}

// checkDependencies finds what comes in through others.
func checkDependencies(t *testing.T, p goPackage, row Row) {
	t.Helper()
	for _, prefix := range row.Without {
		if i := slices.IndexFunc(p.Deps, func(dep string) bool { return within(dep, prefix) }); i >= 0 {
			t.Errorf("%s depends on %s, through another package.\n\tIt may not, since it keeps out %s.\n\tTry: go list -deps, to see through which",
				p.ImportPath, p.Deps[i], row.Never)
		}
	}
}

func allowed(row Row, imported string) bool {
	if name, ok := strings.CutPrefix(imported, module+"/"); ok {
		return sameRow(row, imported) || matches(row.Ours, name)
	}
	return slices.ContainsFunc(row.Third, func(prefix string) bool { return within(imported, prefix) })
}

// sameRow tells parts of one package, which may import each other.
func sameRow(row Row, imported string) bool {
	other, ok := rowOf(Table(), imported)
	return ok && other.Package == row.Package
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if above, all := strings.CutSuffix(pattern, "..."); all {
			return strings.HasPrefix(name+"/", above)
		}
		return name == pattern
	})
}

// within tells whether a path is the prefix or lies below it.
func within(path, prefix string) bool {
	return prefix == "" || path == prefix || strings.HasPrefix(path, prefix+"/")
}
