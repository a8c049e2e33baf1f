package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustRoots(t testing.TB, texts ...string) Roots {
	t.Helper()
	roots, err := ParseRoots(texts)
	if err != nil {
		t.Fatal(err)
	}
	return roots
}

func TestRootsAreWrittenAsPathsAreShown(t *testing.T) {
	text := `holdshort.config.queues.team-a, holdshort.config.custom["nvidia.com/gpu"].x, holdshort.policy["a\"]b"]`
	got := mustRoots(t, "holdshort.config.queues.team-a", `holdshort.config.custom["nvidia.com/gpu"].x`, `holdshort.policy["a\"]b"]`)
	if diff := cmp.Diff(text, got.String()); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", ".", "holdshort.", ".holdshort", "holdshort..config", "config.queues", "holdshorter", "holdshort[x]", `holdshort["x"`, `holdshort["x"]y`, "holdshort.a b"} {
		if roots, err := ParseRoots([]string{bad}); err == nil || !strings.Contains(err.Error(), "Try:") {
			t.Errorf("%q became %v, %v; want an error with advice", bad, roots, err)
		}
	}
}

const baseData = "holdshort:\n  config:\n    flavors: {a: {}}\n    queues:\n      base: {flavors: [a], quota: {}}\n"

// TestAConfigMapWritesOnlyBelowItsRoots: team-a may write its queue and its
// team, and rules that only it reads.
func TestAConfigMapWritesOnlyBelowItsRoots(t *testing.T) {
	granted := map[string]Roots{
		"team-a": mustRoots(t, "holdshort.config.queues.team-a", "holdshort.config.teams.a-dev", "holdshort.team_a"),
		"none":   nil,
	}
	cases := []struct {
		name      string
		configMap string
		key, text string
		says      string // empty: allowed
	}{
		{"its queue", "team-a", "data.yaml", "holdshort: {config: {queues: {team-a: {flavors: [a], quota: {}}}}}", ""},
		{"its team", "team-a", "x.data.yaml", "holdshort: {config: {teams: {a-dev: {queue: team-a}}}}", ""},
		{"nothing", "team-a", "data.yaml", "holdshort: {config: {queues: {}}}", ""},
		{"rules in its package", "team-a", "x.rego", "package holdshort.team_a.inner\n\nx := 1\n", ""},
		{"an empty file", "none", "data.yaml", "# later\n", ""},
		{"another's queue", "team-a", "data.yaml", "holdshort:\n  config:\n    queues:\n      team-b: {flavors: [a], quota: {}}\n",
			"team-a/data.yaml:4: holdshort.config.queues.team-b is outside of what ConfigMap team-a may write. Try: one of holdshort.config.queues.team-a, "},
		{"a queue whose name only begins alike", "team-a", "data.yaml", "holdshort: {config: {queues: {team-ab: {}}}}", "queues.team-ab is outside"},
		{"another's team beside its own", "team-a", "data.yaml", "holdshort: {config: {teams: {a-dev: {queue: team-a}, b-dev: {queue: team-a}}}}", "teams.b-dev is outside"},
		{"all queues at once", "team-a", "data.yaml", "holdshort: {config: {queues: null}}", "holdshort.config.queues is outside"},
		{"a class", "team-a", "data.yaml", "holdshort: {config: {classes: {urgent: {priority: 1}}}}", "holdshort.config.classes is outside"},
		{"another's queue by a merge key", "team-a", "data.yaml", "holdshort: {config: {queues: {<<: {team-b: {}}}}}", "queues.team-b is outside"},
		{"a rule of the policy", "team-a", "x.rego", "package holdshort.policy\n\ndeny contains \"x\"\n", "team-a/x.rego:3: holdshort.policy.deny is outside"},
		{"a rule whose package hides it", "team-a", "x.rego", "package holdshort\n\npolicy.deny contains \"x\"\n", "holdshort.policy.deny is outside"},
		{"a rule whose name is open", "team-a", "x.rego", "package holdshort\n\nteam_a_or[x] := 1 if some x in [1]\n", "holdshort.team_a_or is outside"},
		{"a package that only begins alike", "team-a", "x.rego", "package holdshort.team_ab\n\nx := 1\n", "holdshort.team_ab.x is outside"},
		{"a test of another's package", "team-a", "x_test.rego", "package holdshort.policy_test\n\ntest_x if true\n", "holdshort.policy_test.test_x is outside"},
		{"anything without a root", "none", "data.yaml", "holdshort: {config: {queues: {none: {}}}}", "Try: have roots granted to it"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromGrantedConfigMaps(map[string]map[string]string{"base": {"data.yaml": baseData}, c.configMap: {c.key: c.text}}, granted)
			if c.says == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want an error with %q", err, c.says)
			}
		})
	}
}

func TestWhatTwoConfigMapsSetIsRefusedWithBothNamed(t *testing.T) {
	bundle, err := FromConfigMaps(map[string]map[string]string{
		"base": {"data.yaml": baseData}, "team-a": {"data.yaml": "holdshort: {config: {queues: {base: {strategy: StrictFIFO, flavors: [b]}}}}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Compile(t.Context(), bundle, Options{})
	const want = "team-a/data.yaml:1: holdshort.config.queues.base.flavors is also set at base/data.yaml:5"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestWhoWritesElsewhereIsToldWhoseItIs(t *testing.T) {
	granted := map[string]Roots{"team-a": {{"holdshort", "config", "queues", "team-a"}}, "team-b": {{"holdshort", "config", "queues", "team-b"}}}
	_, err := FromGrantedConfigMaps(map[string]map[string]string{
		"team-a": {"data.yaml": "holdshort: {config: {queues: {team-a: {flavors: [a], quota: {}}}}}"},
		"team-b": {"data.yaml": "holdshort: {config: {queues: {team-a: {quota: {}}}}}"},
	}, granted)
	const want = "holdshort.config.queues.team-a is outside of what ConfigMap team-b may write; it is ConfigMap team-a's. Try: one of holdshort.config.queues.team-b"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
