package binaries

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// tinyModule is a module without dependencies, so that it builds offline.
func tinyModule(t *testing.T, body string) (component, string) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"go.mod": "module example.test/tiny\n\ngo 1.26\n", "go.sum": "",
		"main.go": "package main\n\nfunc main() { " + body + " }\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return component{name: "tiny", packages: []string{"."}, programs: []string{"tiny"}, ldflags: "-s -w", patience: "it is tiny"}, dir
}

func TestAComponentIsBuiltOnce(t *testing.T) {
	c, module := tinyModule(t, `println("hello")`)
	cache, log := t.TempDir(), &bytes.Buffer{}
	dir, err := c.ensure(t.Context(), module, cache, log)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(dir, "tiny")).CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Errorf("the program says %q, %v", out, err)
	}
	if !strings.Contains(log.String(), "building tiny; it is tiny") || !strings.Contains(log.String(), "built tiny in") {
		t.Errorf("a person who waits was told %q", log)
	}
	log.Reset()
	again, err := c.ensure(t.Context(), module, cache, log)
	if err != nil || again != dir || log.Len() > 0 {
		t.Errorf("the second time: %s, %v, saying %q; want %s and silence", again, err, log, dir)
	}
}

func TestAChangedModuleIsAnotherBuild(t *testing.T) {
	c, module := tinyModule(t, "")
	before, err := c.key(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "go.sum"), []byte("another version\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	after, err := c.key(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Errorf("both are %s; an update of a dependency would go unnoticed", before)
	}
}

func TestProcessesThatNeedTheSameBuildShareIt(t *testing.T) {
	c, module := tinyModule(t, "")
	cache := t.TempDir()
	var logs [3]bytes.Buffer
	var all sync.WaitGroup
	for i := range logs {
		all.Go(func() {
			if _, err := c.ensure(t.Context(), module, cache, &logs[i]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	builds := 0
	for i := range logs {
		builds += strings.Count(logs[i].String(), "built tiny")
	}
	if builds != 1 {
		t.Errorf("it was built %d times; want once", builds)
	}
}

func TestAFailedBuildSaysWhyAndLeavesNothing(t *testing.T) {
	c, module := tinyModule(t, "nonsense()")
	cache := t.TempDir()
	_, err := c.ensure(t.Context(), module, cache, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("error %v; want the compiler's words", err)
	}
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || !strings.HasSuffix(left[0], ".lock") {
		t.Errorf("left in the cache: %v; want the lock alone", left)
	}
}

func TestADeadBuildIsClearedAway(t *testing.T) {
	c, module := tinyModule(t, "")
	cache := t.TempDir()
	key, err := c.key(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	for _, stale := range []string{"tiny-" + key, "tiny-" + key + ".building"} {
		if err := os.MkdirAll(filepath.Join(cache, stale, "half"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := c.ensure(t.Context(), module, cache, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "half")); !os.IsNotExist(err) {
		t.Errorf("what a dead build left is part of the new one: %v", err)
	}
}

func TestProgressIsALineThatSaysHowFarItIs(t *testing.T) {
	cases := []struct{ name, output, want string }{
		{"before anything", "", "plane: building kubernetes, 0 of about 2600 packages compiled, 1m15s so far"},
		{"while modules come", "go: downloading a v1\ngo: downloading b v2\ngo: down", "plane: building kubernetes, 2 modules downloaded, 1m15s so far"},
		{"while it compiles", "go: downloading a v1\ninternal/cpu\nk8s.io/api\n", "plane: building kubernetes, 2 of about 2600 packages compiled, 1m15s so far"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			output := &buildOutput{}
			if _, err := output.Write([]byte(c.output)); err != nil {
				t.Fatal(err)
			}
			if got := progressLine(output.progress("kubernetes", 2600), 75*time.Second+200*time.Millisecond); got != c.want {
				t.Errorf("progress %q; want %q", got, c.want)
			}
		})
	}
}

func TestTheModulesToBuildAreFoundFromInsideTheClone(t *testing.T) {
	root, err := sourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(components(), kueueComponent()) {
		if _, err := c.key(t.Context(), filepath.Join(root, "test", "plane", "build", c.name)); err != nil {
			t.Errorf("component %s: %v", c.name, err)
		}
	}
}
