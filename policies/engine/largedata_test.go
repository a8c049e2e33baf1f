package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/util"
	"go.yaml.in/yaml/v3"
)

func manyKeys(n int, format string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

// Each of these took minutes, or longer: keys were compared each with each.
func TestManyKeysAreReadInTime(t *testing.T) {
	const n = 60_000
	cases := map[string]struct {
		files map[string][]byte
		want  string
	}{
		"under custom": {config("flavors: {}", "queues: {}", "custom: {"+manyKeys(n, "k%d: 1, ")+"}"), ""},
		"unknown ones in a queue": {config("flavors: {}", "queues: {q: {"+manyKeys(n, "k%d: 1, ")+"}}"),
			"unknown key"},
		"at the top": {files("data.yaml", manyKeys(n/4, "key%d: 1\n")), "unknown key"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			go func() {
				b := Bundle{Files: c.files}
				b.Digest()
				_, err := Compile(t.Context(), b, Options{})
				done <- err
			}()
			select {
			case err := <-done:
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %.300v, want %q", err, c.want)
				}
			case <-time.After(time.Minute):
				t.Fatal("they are still read after a minute")
			}
		})
	}
}

func TestDataSaysTheSameAsToOPAWhetherLargeOrSmall(t *testing.T) {
	large := manyKeys(largeObject+1, "k%d: x\n")
	for name, text := range map[string]string{
		"numbers":              "a: [1, -1, 0x1f, 0o17, 1.5, 1.0, 1e21, 1e-7, 12345678901234567890, 123456789012345678901234567890, 1_000]",
		"an infinite one":      "a: .inf",
		"booleans and null":    "a: [true, False, yes, on, ~, null, NULL, '']\nb:\n",
		"texts":                "a: [\"1\", 'x', !!str 5, 1e999999999, \"\\u00e4\"]",
		"blocks":               "a: |\n  one\n  two\nb: >\n  three\n  four\n",
		"times":                "a: 2026-01-01\n2026-01-02: b\nc: \"2026-01-03\"",
		"binary":               "a: !!binary gIGC\n",
		"a tag of somebody's":  "a: !mine x\nb: !mine {c: 1}",
		"empty ones":           "a: {}\nb: []",
		"objects in lists":     "a: [{b: [{c: 1}]}, [2]]",
		"a quoted key":         "\"true\": 1\n\"5\": 2",
		"a float as a tag":     "a: !!float 1\nb: !!int \"3\"",
		"a nested large thing": "a: {b: 1}",
		"whole numbers":        "a: [0, 7, -7, -0, +5, 007, 999999999999999999, 9999999999999999999]",
		"texts in many lines":  "a: one\n  two\nb: \"x\\\n  y\"\nc: |-\n  z\n",
		"letters of all kinds": "a: \"<&>\\u2028\\0\\x80\"\n\"\u00fc\": \U0001f600",
		"what looks like keys": "\"<<\": 1\n\"~\": 2\n\"\": 3",
	} {
		for size, content := range map[string]string{"large": text + "\n" + large, "small": text} {
			t.Run(name+", "+size, func(t *testing.T) { sameAsToOPA(t, content) })
		}
	}
}

func TestWhatIsNotPlainSaysTheSameAsToOPA(t *testing.T) {
	for name, content := range map[string]string{
		"an alias":                 "a: &x {b: 1}\nc: *x",
		"a merge key":              "a: &x {b: 1}\nc: {<<: *x, d: 2}",
		"keys that are no strings": "1: a\ntrue: b\n~: c",
		"JSON":                     "{\"a\": 1.0, \"b\": [1e3]}",
		"JSON with a mark":         "\ufeff{\"a\": 1.0}",
		"YAML with a mark":         "\ufeffa: 1.0\nb: 1",
		"a document of its own":    "--- \na: 1\n...\n",
		"a list":                   "- 1\n- a",
		"a text":                   "a",
	} {
		t.Run(name, func(t *testing.T) { sameAsToOPA(t, content) })
	}
}

func sameAsToOPA(t *testing.T, content string) {
	t.Helper()
	var want any
	wantErr := util.Unmarshal([]byte(content), &want)
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(content), &node); err != nil {
		t.Fatal(err)
	}
	got, problem := dataValue("data.yaml", []byte(content), &node)
	if (problem == nil) != (wantErr == nil) {
		t.Fatalf("refused with %v, by OPA with %v", problem, wantErr)
	}
	if problem == nil {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("not what OPA reads (-want +got)\n%s", diff)
		}
	}
}

func TestWhatALargeFileMayNotHaveIsRefusedWithItsPlace(t *testing.T) {
	large := manyKeys(largeObject+1, "k%d: x\n")
	for name, c := range map[string]struct{ text, want string }{
		"a merge key":             {large + "a: &a {}\nb: {<<: *a}\n", "data.yaml:1003: a merge key"},
		"an alias":                {large + "a: &a {}\nb: *a\n", "data.yaml:1003: an alias"},
		"a key that is a number":  {large + "5: a\n", "data.yaml:1002: a key that is no string"},
		"a key that is a boolean": {large + "true: a\n", "data.yaml:1002: a key that is no string"},
		"more than anybody needs": {"a: [" + strings.Repeat("1,", nodesMax) + "]", "more than 200000 keys and values"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, problem := readDataFile("data.yaml", []byte(c.text))
			if problem == nil || !strings.HasPrefix(strings.TrimPrefix(problem.String(), "data.yaml: "), c.want) {
				t.Errorf("got %v, want %q", problem, c.want)
			}
		})
	}
}
