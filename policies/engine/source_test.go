package engine

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// folder writes files below a new folder.
func folder(t *testing.T, all map[string][]byte) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range all {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func names(b Bundle) []string { return slices.Sorted(maps.Keys(b.Files)) }

func TestFolderIsReadWithoutWhatIsHiddenOrNotOurs(t *testing.T) {
	root := folder(t, files("data.yaml", "a", "team.data.yaml", "b", "policy/x.rego", "c", "policy/x_test.rego", "d",
		"tests/data.yaml", "e", "scenarios/s.yaml", "f", ".git/x.rego", "g", ".hidden.rego", "h", "README.md", "i"))
	got, err := ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"data.yaml", "policy/x.rego", "policy/x_test.rego", "scenarios/s.yaml", "team.data.yaml", "tests/data.yaml"}
	if diff := cmp.Diff(want, names(got)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestMountedConfigMapIsReadOnceAndWhole(t *testing.T) {
	root := t.TempDir()
	for _, version := range []string{"..2026_01", "..2026_02"} {
		if err := os.MkdirAll(filepath.Join(root, version), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, version, "data.yaml"), []byte(version), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"..data": "..2026_02", "data.yaml": "..data/data.yaml"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadDir(root)
	if diff := cmp.Diff(files("data.yaml", "..2026_02"), got.Files); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestFolderThatIsNoBundleSaysWhatToDo(t *testing.T) {
	nested := folder(t, files("data.yaml", "", "policy/data.yaml", "x: 1"))
	file := filepath.Join(folder(t, files("data.yaml", "")), "data.yaml")
	for name, want := range map[string]string{
		nested:                                "policy/data.yaml: data belongs at the top of the bundle. Try: move it beside data.yaml as policy.data.yaml",
		file:                                  "is not a folder. Try: the folder that has data.yaml in it",
		filepath.Join(nested, "not", "there"): "no such file or directory",
	} {
		if _, err := ReadDir(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("reading %s: %v; want %q", name, err, want)
		}
	}
}

func TestConfigMapsBecomeOneBundleThatNamesThem(t *testing.T) {
	got, err := FromConfigMaps(map[string]map[string]string{
		"holdshort-policy": {"data.yaml": "holdshort: {config: {flavors: {a: {}}, queues: {}}}", "notes.txt": "x", "x_test.rego": "y"},
		"team-nlp":         {"nlp.data.yaml": "holdshort: {config: {queues: {nlp: {flavors: [a], quota: {}, namespaces: {all: true}}}}}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"holdshort-policy/data.yaml", "holdshort-policy/x_test.rego", "team-nlp/nlp.data.yaml"}, names(got)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got.Source != "configmap holdshort-policy, team-nlp" {
		t.Errorf("source %q", got.Source)
	}
	r := mustCompile(t, got)
	if _, merged := r.Catalog().Queues["nlp"]; !merged {
		t.Errorf("catalog has %v, want the second ConfigMap's queue too", r.Catalog().Queues)
	}
}
