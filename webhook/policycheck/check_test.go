package policycheck_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/webhook/policycheck"
)

const (
	good = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      lab:
        namespaces: {all: true}
        flavors: [gpu]
        quota: {gpu: {nvidia.com/gpu: 4}}
`
	flavorsOnly = "holdshort: {config: {flavors: {gpu: {}}}}\n"
	queuesOnly  = `holdshort:
  config:
    queues:
      lab: {namespaces: {all: true}, flavors: [gpu], quota: {}}
`
	rule   = "package holdshort.policy\n\nimport data.holdshort.lib\n\ndeny contains lib.reason(\"team.example/No\", \"no\") if input.workload.name == \"no\"\n"
	syntax = "package holdshort.policy\n\ndeny contains if {\n"
)

// files of a ConfigMap.
type files = map[string]string

// configMaps are those of a policy that are there, and the names of all.
type configMaps struct {
	there map[string]files
	names []string
	err   error
}

func (c configMaps) Counts(name string, labels map[string]string) bool {
	return slices.Contains(c.names, name) || labels["team-policy"] != ""
}

func (c configMaps) Present(context.Context) (map[string]map[string]string, []string, error) {
	var missing []string
	for _, name := range c.names {
		if _, there := c.there[name]; !there {
			missing = append(missing, name)
		}
	}
	return c.there, missing, c.err
}

func (c configMaps) Assemble(data map[string]map[string]string) (engine.Bundle, error) {
	return engine.FromGrantedConfigMaps(data, map[string]engine.Roots{"team": {}})
}

func checker(there map[string]files, names ...string) *policycheck.Checker {
	return policycheck.New(policycheck.Options{ConfigMaps: configMaps{there: there, names: names}, Scenarios: play})
}

func raw(t *testing.T, object *corev1.ConfigMap) runtime.RawExtension {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: data}
}

func configMap(name string, data files, version string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "holdshort-system"}, Data: data}
	if version != "" {
		c.Labels = map[string]string{"app.kubernetes.io/version": version}
	}
	return c
}

func labelled(c *corev1.ConfigMap) *corev1.ConfigMap {
	c.Labels = map[string]string{"holdshort.dev/policy": "true"}
	return c
}

func creation(t *testing.T, now *corev1.ConfigMap) admission.Request {
	t.Helper()
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "1", Name: now.Name, Namespace: now.Namespace, Operation: admissionv1.Create, Object: raw(t, now),
	}}
}

func update(t *testing.T, old, now *corev1.ConfigMap) admission.Request {
	t.Helper()
	r := creation(t, now)
	r.Operation, r.OldObject = admissionv1.Update, raw(t, old)
	return r
}

func TestWhatIsWrongWithAnEditIsRefused(t *testing.T) {
	replaced := func(old, with string) files { return files{"data.yaml": strings.Replace(good, old, with, 1)} }
	for _, c := range []struct {
		name string
		now  files
		want []string
	}{
		{"a syntax error in a rule", files{"data.yaml": good, "mine.rego": syntax}, []string{"policy/mine.rego:3: ", "\n\tdeny contains if {\n\t"}},
		{"a broken data file", files{"data.yaml": good + "  oops\n"}, []string{"policy/data.yaml:"}},
		{"an unknown key", replaced("flavors: [gpu]", "flavours: [gpu]"), []string{"policy/data.yaml:8: ", "flavours", "\n\t        ^", ". Try: flavors"}},
		{"a negative quota", replaced("gpu: 4", "gpu: -4"), []string{"policy/data.yaml:9: ", "-4 is negative. Try: 0 or more\n\t        quota: {gpu: {nvidia.com/gpu: -4}}\n\t                      ^"}},
		{"a flavor that does not exist", replaced("[gpu]", "[gpu, tpu]"), []string{"policy/data.yaml:8: ", "tpu"}},
		{"a rule that reads what it is not granted", files{"data.yaml": good, "mine.rego": strings.Replace(rule, "input.workload.name == \"no\"", "input.usage.waiting > 1", 1)}, []string{"policy/mine.rego:5: ", "usage"}},
		{"nothing at all", files{}, []string{"the policy is empty"}},
		{"more than can be kept", files{"data.yaml": good, "mine.rego": rule + "#" + strings.Repeat("x", 950<<10)}, []string{"KiB"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, r := range map[string]admission.Request{
				"created": creation(t, configMap("policy", c.now, "")),
				"updated": update(t, configMap("policy", files{"data.yaml": good}, ""), configMap("policy", c.now, "")),
			} {
				got := checker(nil, "policy").Handle(t.Context(), r)
				if got.Allowed {
					t.Fatalf("%s: allowed, with %v", name, got.Warnings)
				}
				for _, want := range c.want {
					if !strings.Contains(got.Result.Message, want) {
						t.Errorf("%s: no %q in\n%s", name, want, got.Result.Message)
					}
				}
			}
		})
	}
}

func TestARuleInBinaryDataIsCheckedLikeOneInData(t *testing.T) {
	for name, c := range map[string]struct {
		rule    string
		allowed bool
	}{"a good one": {rule, true}, "a bad one": {syntax, false}, "one that is no text": {rule + "\xff", false}} {
		t.Run(name, func(t *testing.T) {
			now := configMap("policy", files{"data.yaml": good}, "")
			now.BinaryData = map[string][]byte{"mine.rego": []byte(c.rule), "logo.png": {0xff}}
			got := checker(nil, "policy").Handle(t.Context(), creation(t, now))
			if got.Allowed != c.allowed || !c.allowed && !strings.Contains(got.Result.Message, "policy/mine.rego") {
				t.Errorf("allowed: %t, %+v", got.Allowed, got.Result)
			}
		})
	}
}

func TestWhatPasses(t *testing.T) {
	broken := files{"data.yaml": good, "mine.rego": syntax}
	negative := strings.Replace(good, "gpu: 4", "gpu: -4", 1)
	warned := strings.Replace(rule, "== \"no\"", "== data.holdshort.config.custom.name", 1)
	for _, c := range []struct {
		name   string
		others map[string]files
		names  string
		old    *corev1.ConfigMap
		now    *corev1.ConfigMap
		warns  []string // one piece of text for each warning
	}{
		{"a good policy", nil, "policy", nil, configMap("policy", files{"data.yaml": good, "mine.rego": rule, "mine_test.rego": "package x"}, ""), nil},
		{"what is only doubtful is warned of", nil, "policy", nil, configMap("policy", files{"data.yaml": good, "mine.rego": warned}, ""), []string{"policy/mine.rego:5: "}},
		{"a ConfigMap that nobody reads", nil, "policy", nil, configMap("other", broken, ""), []string{"ConfigMap other has no effect: the manager does not take its policy from it. Try: "}},
		{"one with the label that nobody reads", nil, "policy", nil, labelled(configMap("other", broken, "")), []string{"ConfigMap other has no effect: the manager does not take its policy from it. Try: --policy-labelled with"}},
		{"what was wrong elsewhere stays elsewhere", map[string]files{"b": {"b.data.yaml": "holdshort: {config: {oops: 1}}"}}, "a b", nil, configMap("a", files{"data.yaml": good}, ""), []string{"b/b.data.yaml:1: "}},
		{"also when it was wrong before an update", map[string]files{"b": {"b.data.yaml": negative}}, "a b", configMap("a", files{"mine.rego": rule}, ""), configMap("a", files{"mine.rego": rule + "\n# more"}, ""), []string{"b/b.data.yaml:9: "}},
		{"a repair, though what is elsewhere is still broken", map[string]files{"b": {"b.data.yaml": "holdshort: {config: {oops: 1}}"}}, "a b", configMap("a", broken, ""), configMap("a", files{"data.yaml": good}, ""), []string{"b/b.data.yaml:1: "}},
		{"two that need each other", map[string]files{"b": {"data.yaml": flavorsOnly}}, "a b", nil, configMap("a", files{"data.yaml": queuesOnly}, ""), nil},
		{"the first of two that need each other", nil, "a b", nil, configMap("a", files{"data.yaml": queuesOnly}, ""), []string{"without ConfigMap b", "a/data.yaml"}},
		{"a test that passes", nil, "policy", nil, configMap("policy", files{"data.yaml": good, "a_test.rego": "package a_test\n\ntest_a if true\n"}, ""), nil},
		{"a test that fails", nil, "policy", nil, configMap("policy", files{"data.yaml": good, "a_test.rego": "package a_test\n\ntest_a if 1 == 2\n"}, ""), []string{"until this is right, too: policy/a_test.rego:3: the test test_a fails"}},
		{"a test that does not compile", nil, "policy", nil, configMap("policy", files{"data.yaml": good, "a_test.rego": "package a_test\n\ntest_a if {\n"}, ""), []string{"until this is right, too: policy/a_test.rego:4: rego_parse_error"}},
		{"an edit of something else", nil, "policy", configMap("policy", broken, ""), configMap("policy", broken, "2"), nil},
		{"what the next version may know", nil, "policy", configMap("policy", files{"data.yaml": good}, "1"), configMap("policy", files{"data.yaml": negative}, "2"), []string{"holdshort goes from version 1 to 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := creation(t, c.now)
			if c.old != nil {
				r = update(t, c.old, c.now)
			}
			got := checker(c.others, strings.Fields(c.names)...).Handle(t.Context(), r)
			if !got.Allowed {
				t.Fatalf("refused: %s", got.Result.Message)
			}
			if len(got.Warnings) != len(c.warns) {
				t.Fatalf("warnings %q, want %d", got.Warnings, len(c.warns))
			}
			for i, want := range c.warns {
				if !strings.Contains(got.Warnings[i], want) || strings.ContainsAny(got.Warnings[i], "\n\t") {
					t.Errorf("warning %q, want one line with %q", got.Warnings[i], want)
				}
			}
		})
	}
}

func TestAnEditThatBreaksAnotherConfigMapIsRefused(t *testing.T) {
	others := map[string]files{"queues": {"data.yaml": queuesOnly}}
	r := update(t, configMap("flavors", files{"data.yaml": flavorsOnly}, ""), configMap("flavors", files{"data.yaml": "holdshort: {config: {flavors: {cpu: {}}}}\n"}, ""))
	got := checker(others, "queues", "flavors").Handle(t.Context(), r)
	if got.Allowed || !strings.Contains(got.Result.Message, "queues/data.yaml:4: ") {
		t.Errorf("got %+v, want a refusal that names the queue that needs the flavor", got.AdmissionResponse)
	}
}

// lagging shows nothing when it is asked first.
type lagging struct {
	configMaps
	asked bool
}

func (l *lagging) Present(ctx context.Context) (map[string]map[string]string, []string, error) {
	if !l.asked {
		l.asked = true
		return map[string]map[string]string{"b": {}}, nil, nil
	}
	return l.configMaps.Present(ctx)
}

// TestWhatWasAppliedJustBeforeCounts: the cache shows a moment later what the
// same command applied before.
func TestWhatWasAppliedJustBeforeCounts(t *testing.T) {
	late := &lagging{configMaps: configMaps{there: map[string]files{"b": {"data.yaml": flavorsOnly}}, names: []string{"a", "b"}}}
	check := policycheck.New(policycheck.Options{ConfigMaps: late})
	got := check.Handle(t.Context(), creation(t, configMap("a", files{"data.yaml": queuesOnly}, "")))
	if !got.Allowed || len(got.Warnings) > 0 {
		t.Errorf("got %+v, want it to pass", got.AdmissionResponse)
	}
}

func TestWhatCannotBeJudgedPassesWithAWarning(t *testing.T) {
	endless := "package holdshort.policy.catalog\n\nresources := {\"ignored\": []} if count([1 | some x in numbers.range(1, 20000); some y in numbers.range(1, 20000); x == y + 40000]) == 0\n"
	failing := configMaps{names: []string{"policy"}, err: errors.New("no cache")}
	unread := creation(t, configMap("policy", nil, ""))
	unread.Object.Raw = []byte(`{"data": []}`)
	for _, c := range []struct {
		name  string
		check *policycheck.Checker
		r     admission.Request
		want  string
	}{
		{"an object that is no ConfigMap", checker(nil, "policy"), unread, "reading the ConfigMap"},
		{"no cache", policycheck.New(policycheck.Options{ConfigMaps: failing}), creation(t, configMap("policy", files{"data.yaml": good}, "")), "no cache"},
		{"a catalog without an end", checker(nil, "policy"), creation(t, configMap("policy", files{"data.yaml": good, "endless.rego": endless}, "")), "more than 2s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.check.Handle(t.Context(), c.r)
			if !got.Allowed || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], c.want) {
				t.Errorf("allowed %v (%v) with %q, want one warning with %q", got.Allowed, got.Result, got.Warnings, c.want)
			}
		})
	}
}

func TestADryRunIsCheckedLikeAnyOther(t *testing.T) {
	yes := true
	r := creation(t, configMap("policy", files{"data.yaml": good, "mine.rego": syntax}, ""))
	r.DryRun = &yes
	if checker(nil, "policy").Handle(t.Context(), r).Allowed {
		t.Error("a dry run of a bad policy passes")
	}
}

func TestAFewProblemsAreShownAndTheRestIsTold(t *testing.T) {
	var data strings.Builder
	data.WriteString(good)
	for i := range 30 {
		data.WriteString("    oops" + strings.Repeat("x", i) + ": 1\n")
	}
	got := checker(nil, "policy").Handle(t.Context(), creation(t, configMap("policy", files{"data.yaml": data.String()}, "")))
	if got.Allowed || strings.Count(got.Result.Message, "data.yaml:") != 10 || !strings.HasSuffix(got.Result.Message, "\nand more") {
		t.Errorf("got\n%s", got.Result.Message)
	}
}

// panicking is a policy that nobody foresaw.
type panicking struct{ configMaps }

func (panicking) Assemble(map[string]map[string]string) (engine.Bundle, error) { panic("oops") }

func TestAPanicDoesNotEndTheManager(t *testing.T) {
	check := policycheck.New(policycheck.Options{ConfigMaps: panicking{configMaps{names: []string{"policy"}}}})
	for range 2 { // the second must not wait for the first
		got := check.Handle(t.Context(), creation(t, configMap("policy", files{"data.yaml": good}, "")))
		if !got.Allowed || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "oops") {
			t.Errorf("got %+v, want it to pass with a warning", got.AdmissionResponse)
		}
	}
}

// TestTheCacheIsNotWrittenTo: what the cache hands out is everybody's.
// stuck cannot say what the policy is made of as long as it has the edited one.
type stuck struct {
	configMaps
	release <-chan struct{}
}

func (s stuck) Assemble(data map[string]map[string]string) (engine.Bundle, error) {
	if _, is := data["stuck"]; is {
		<-s.release
	}
	return s.configMaps.Assemble(data)
}

func TestAnEditWhoseCheckIsStuckKeepsNobodyFromChecking(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	c := policycheck.New(policycheck.Options{ConfigMaps: stuck{configMaps{names: []string{"stuck", "policy"}}, release}})
	got := c.Handle(t.Context(), creation(t, configMap("stuck", files{"data.yaml": good}, "")))
	if !got.Allowed || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "not checked: it takes more than 2s") {
		t.Fatalf("the edit that is stuck: allowed %t, warnings %q", got.Allowed, got.Warnings)
	}
	if got := c.Handle(t.Context(), creation(t, configMap("policy", files{"deny.rego": syntax}, ""))); got.Allowed {
		t.Errorf("the next one is not checked: %q", got.Warnings)
	}
}

func TestTheCacheIsNotWrittenTo(t *testing.T) {
	cache := map[string]files{"a": {"data.yaml": good}, "b": {"data.yaml": flavorsOnly}}
	before := map[string]files{"a": maps.Clone(cache["a"]), "b": maps.Clone(cache["b"])}
	checker(cache, "a", "b").Handle(t.Context(), creation(t, configMap("a", files{"data.yaml": "x: ["}, "")))
	if diff := cmp.Diff(before, cache); diff != "" {
		t.Errorf("the cache changed (-want +got):\n%s", diff)
	}
}

func TestAConfigMapThatALabelMakesPartOfThePolicyIsChecked(t *testing.T) {
	with := func(c *corev1.ConfigMap, label string) *corev1.ConfigMap {
		c.Labels = map[string]string{label: "yes"}
		return c
	}
	others := map[string]files{"policy": {"data.yaml": good}}
	team := files{"team.data.yaml": "holdshort: {config: {custom: {a: 1}}}\n"}
	for _, c := range []struct {
		name, label string
		want        string // in the refusal, or the warning
		allowed     bool
	}{
		{"the label is there", "team-policy", "team/team.data.yaml:1: ", false},
		{"it is not", "other", "no effect", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := checker(others, "policy").Handle(t.Context(), update(t, configMap("team", team, ""), with(configMap("team", team, ""), c.label)))
			text := strings.Join(got.Warnings, "\n")
			if got.Result != nil {
				text += got.Result.Message
			}
			if got.Allowed != c.allowed || !strings.Contains(text, c.want) {
				t.Errorf("allowed %v with %q, want %v with %q", got.Allowed, text, c.allowed, c.want)
			}
		})
	}
}

func TestWhereThePolicyIsNotInConfigMapsNoneHasAnEffect(t *testing.T) {
	got := policycheck.New(policycheck.Options{}).Handle(t.Context(), creation(t, configMap("policy", files{"mine.rego": syntax}, "")))
	if !got.Allowed || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "not take its policy from ConfigMaps") {
		t.Errorf("got %+v, want one warning", got.AdmissionResponse)
	}
}
