package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHelpersMayHaveAnyNameWhileSomethingReadsThem(t *testing.T) {
	tests := map[string]map[string]string{
		"a rule that is nearly an entrypoint":  {"a.rego": "package holdshort.policy\n\nhold contains {\"code\": \"a.example/B\", \"message\": \"b\"} if held\n\nheld if input.verdict.priority < 5\n"},
		"a helper within classify":             {"a.rego": "package holdshort.policy.classify\n\npriority := weight\n\nweight := 3\n"},
		"a function of a package of its own":   {"a.rego": "package holdshort.policy.classify\n\nimport data.holdshort.team\n\npriority := team.weight(3)\n", "b.rego": "package holdshort.team\n\nweight(x) := x + 1\n"},
		"a package that is nearly the library": {"a.rego": "package holdshort.policy.classify\n\nimport data.holdshort.libs\n\npriority := libs.weight(3)\n", "b.rego": "package holdshort.libs\n\nweight(x) := x + 1\n"},
		"a rule that resembles nothing":        {"a.rego": "package holdshort.policy\n\nspare := 3\n"},
	}
	for name, modules := range tests {
		t.Run(name, func(t *testing.T) {
			if warnings := mustCompile(t, starterWith(modules)).Warnings(); len(warnings) > 0 {
				t.Errorf("warned of: %v", warnings)
			}
		})
	}
}

func TestWhatReadsNothingIsWarnedOf(t *testing.T) {
	tests := map[string]struct {
		modules map[string]string
		want    []string
	}{
		"a package that nobody imports": {
			map[string]string{"a.rego": "package holdshort.team\n\nweight := 3\n"},
			[]string{"a.rego:1: nothing asks for package holdshort.team, so its rules do nothing. Try: package holdshort.policy, or a rule that reads it"},
		},
		"a custom fact that is not there": {
			map[string]string{"a.rego": "package holdshort.policy\n\nhold contains {\"code\": \"a.example/B\", \"message\": \"b\"} if {\n\tinput.verdict.priority > data.holdshort.config.custom.most\n}\n"},
			[]string{"a.rego:4: holdshort.config has no custom, so what reads it is undefined. Try: custom in data.yaml"},
		},
		"a custom fact beside those that are there": {
			map[string]string{"c.data.yaml": "holdshort: {config: {custom: {daytime: {to: 20}}}}\n",
				"a.rego": "package holdshort.policy\n\nhold contains {\"code\": \"a.example/B\", \"message\": \"b\"} if {\n\tday := data.holdshort.config.custom.daytime\n\tday.to > data.holdshort.config.custom.daytime.from\n}\n"},
			[]string{"a.rego:5: holdshort.config has no custom.daytime.from, so what reads it is undefined. Try: custom.daytime.from in data.yaml"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, w := range mustCompile(t, starterWith(test.modules)).Warnings() {
				got = append(got, w.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMisspeltPackageSaysEachFileOnce(t *testing.T) {
	bad := refusal(t, starterWith(map[string]string{"a.rego": "package holdshort.polciy\n\nx := 1\n\ny := 2\n"}), Options{})
	if len(bad.Problems) != 1 || !strings.Contains(bad.Error(), "a.rego:1: ") || bad.Problems[0].Try != "package holdshort.policy" {
		t.Errorf("problems: %v; want one, at a.rego:1, with the right package", bad)
	}
}

// starterWith is the starter data with more files.
func starterWith(more map[string]string) Bundle {
	b := starter()
	for name, text := range more {
		b.Files[name] = []byte(text)
	}
	return b
}
