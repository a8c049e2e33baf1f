package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// withShadow gives a stage a shadow whose source the test edits.
func withShadow(t *testing.T) (*stage, *memory) {
	t.Helper()
	s, beside := newStage(t), &memory{}
	shadow, err := NewShadow(beside, s.Engine.Active, s.Now, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	s.Shadow = shadow
	return s, beside
}

// ask has the policy in force classify and deny a Job, with the shadow listening,
// and lets the shadow answer all.
func (s *stage) ask(live Live) {
	s.t.Helper()
	active := s.Engine.Active()
	verdict, err := active.Classify(s.t.Context(), live.Input)
	s.Shadow.Hear(Asked{Revision: active, Entrypoint: "classify", Input: live.Input, Verdict: verdict, Err: err})
	denied, err := active.Deny(s.t.Context(), live.Input)
	s.Shadow.Hear(Asked{Revision: active, Entrypoint: "deny", Input: live.Input, Reasons: denied, Err: err})
	for len(s.Shadow.queue) > 0 {
		s.Shadow.compare(s.t.Context(), <-s.Shadow.queue)
	}
	s.tellShadow()
	if !s.settled(s.t.Context()) {
		s.t.Fatal("not written down")
	}
}

func TestTheShadowsDifferencesAreCountedAndListedAndNeverEnforced(t *testing.T) {
	s, beside := withShadow(t)
	first := s.Engine.Active()
	beside.files = map[string][]byte{"data.yaml": []byte(goodData), "no.rego": []byte(`package holdshort.policy

deny contains {"code": "a.example/No", "message": "no"} if input.workload.name == "one"

classify.priority := 7

hold contains {"code": "a.example/Hm", "message": "x"} if to_number(input.workload.name) > 1
`)}
	s.step()
	s.ask(waiting(t, first, "one", "research", ""))
	s.ask(waiting(t, first, "two", "research", ""))
	s.Shadow.compare(t.Context(), Asked{Revision: first, Entrypoint: "hold", Input: waiting(t, first, "two", "research", "").Input})
	s.tellShadow()
	s.settled(t.Context())
	shadow := statusOf(t, s.c).Shadow
	if shadow == nil || shadow.Verdict != v1alpha1.VerdictShadow || shadow.Compared != 5 {
		t.Fatalf("the shadow is shown as %+v", shadow)
	}
	want := []v1alpha1.DifferenceCount{{Kind: "deny", Count: 1, Jobs: 1}, {Kind: "error", Count: 1, Jobs: 1}, {Kind: "priority", Count: 2, Jobs: 2}}
	if diff := cmp.Diff(want, shadow.Differences); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	newest := shadow.Latest[len(shadow.Latest)-2]
	if newest.Kind != "deny" || newest.Job != "a/one" || newest.Active != "nothing" || newest.Shadow != "a.example/No: no (no.rego:3)" {
		t.Errorf("the denial is listed as %+v", newest)
	}
	s.want(first.Digest(), "")

	delete(beside.files, "no.rego")
	delete(beside.files, "data.yaml")
	s.step()
	if shadow := statusOf(t, s.c).Shadow; shadow != nil {
		t.Errorf("the shadow that is gone is shown as %+v", shadow)
	}
}

func TestAPromotedShadowStaysInForceUntilTheSourceSaysTheSame(t *testing.T) {
	s, beside := withShadow(t)
	first := s.Engine.Active().Digest()
	s.spec(v1alpha1.PolicyRolloutSpec{Promote: "0123456789ab"})
	if got := s.answered(); got != "False UnknownRevision" {
		t.Errorf("of promoting what is not there the status says %q", got)
	}
	beside.files = map[string][]byte{"data.yaml": []byte(goodData + "      other: {flavors: [gpu], namespaces: {all: true}, quota: {}}\n")}
	s.step()
	next := statusOf(t, s.c).Shadow.Digest
	s.spec(v1alpha1.PolicyRolloutSpec{Promote: v1alpha1.Digest(next)})
	s.want(next, v1alpha1.VerdictAwaitingApproval) // what the source says waits
	if previous := statusOf(t, s.c).Previous; previous == nil || previous.Digest != first {
		t.Errorf("previous is %+v, want %s", previous, first)
	}
	s.restart()
	s.want(next, v1alpha1.VerdictAwaitingApproval)

	s.source.files = beside.files
	s.step()
	s.want(next, "")
	if spec := s.specNow(); spec != (v1alpha1.PolicyRolloutSpec{}) {
		t.Errorf("spec is still %+v, want what is done taken out", spec)
	}
}

func TestAShadowWhoseTestsFailIsNeitherComparedNorPromoted(t *testing.T) {
	s, beside := withShadow(t)
	first := s.Engine.Active()
	beside.files = map[string][]byte{"data.yaml": []byte(goodData), "a_test.rego": []byte(failingTest)}
	s.step()
	shadow := statusOf(t, s.c).Shadow
	if shadow.Verdict != v1alpha1.VerdictRejected || shadow.Errors[0].At != "a_test.rego:3" {
		t.Fatalf("the shadow is shown as %+v", shadow)
	}
	s.spec(v1alpha1.PolicyRolloutSpec{Promote: v1alpha1.Digest(shadow.Digest)})
	s.want(first.Digest(), "")
	s.ask(waiting(t, first, "one", "research", ""))
	if got := statusOf(t, s.c).Shadow.Compared; got != 0 {
		t.Errorf("%d decisions were compared", got)
	}
}

func TestAShadowsScenariosArePlayedAndThatAgainWhenTheyCouldNotBe(t *testing.T) {
	s, beside := withShadow(t)
	says := []testrun.Result{{Package: "scenario.night", Name: "late starts by 3h", File: "night.yaml", Row: 9, Outcome: testrun.Fail}}
	busy := true
	s.Gates.Scenarios = func(context.Context, engine.Bundle, time.Duration) ([]testrun.Result, error) {
		if busy {
			return nil, engine.ErrBusy
		}
		return says, nil
	}
	beside.files = map[string][]byte{"data.yaml": []byte(goodData)}
	s.step()
	if !s.again {
		t.Error("nobody looks at it again")
	}
	for _, c := range []struct {
		says    []testrun.Result
		data    string
		verdict string
	}{{says, goodData, v1alpha1.VerdictRejected}, {nil, goodData + "\n# edited\n", v1alpha1.VerdictShadow}} {
		busy, says, beside.files = false, c.says, map[string][]byte{"data.yaml": []byte(c.data)}
		s.step()
		if got := statusOf(t, s.c).Shadow; s.again || got.Verdict != c.verdict {
			t.Errorf("with %d expectations that fail it is %+v, want %s", len(c.says), got, c.verdict)
		}
	}
}

func TestWhoDecidesNeverWaitsForASlowShadow(t *testing.T) {
	s, beside := withShadow(t)
	first := s.Engine.Active()
	beside.files = map[string][]byte{"data.yaml": []byte(goodData),
		"slow.rego": []byte("package holdshort.policy\n\ndeny contains {\"code\": \"a.example/Slow\", \"message\": \"never\"} if count(numbers.range(1, 30000000)) < 0\n")}
	s.step()
	live := waiting(t, first, "one", "research", "")
	started := time.Now()
	for range askedMax + 10 { // nobody answers
		s.Shadow.Hear(Asked{Revision: first, Entrypoint: "deny", Input: live.Input})
	}
	if took := time.Since(started); took > time.Second {
		t.Errorf("hearing took %v", took)
	}
	s.Shadow.compare(t.Context(), <-s.Shadow.queue)
	s.tellShadow()
	shadow := s.status.want.Shadow
	want := []v1alpha1.DifferenceCount{{Kind: "error", Count: 1, Jobs: 1}}
	if diff := cmp.Diff(want, shadow.Differences); diff != "" {
		t.Errorf("an evaluation that was cut off (-want +got):\n%s", diff)
	}
	if shadow.Dropped != 10 {
		t.Errorf("%d decisions were dropped, want 10", shadow.Dropped)
	}
}

func TestAShadowConfigMapReplacesTheOneThatItIsNamedAfter(t *testing.T) {
	store := cluster(t)
	add := func(name, data string) {
		t.Helper()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{"data.yaml": data}}
		if err := store.Create(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	add("base", "a: 1\n")
	add("extra", "b: 1\n")
	of := ConfigMaps{Cache: readCache{store: store}, Namespace: "ns", Names: []string{"base", "extra"}}
	none, err := ShadowConfigMaps{of}.Read(t.Context())
	if err != nil || len(none.Files) != 0 {
		t.Fatalf("without a shadow: %v, %v", none, err)
	}
	add("base-shadow", "a: 2\n")
	got, err := ShadowConfigMaps{of}.Read(t.Context())
	want := engine.Bundle{Source: "configmap base-shadow", Files: map[string][]byte{"base-shadow/data.yaml": []byte("a: 2\n"), "extra/data.yaml": []byte("b: 1\n")}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestARuleOfAPromotedShadowIsAtItsPlaceWithoutTheShadow(t *testing.T) {
	store := cluster(t)
	for _, one := range []*corev1.ConfigMap{configMap("policy", nil, goodData), configMap("policy"+ShadowSuffix, nil, goodData)} {
		if strings.HasSuffix(one.Name, ShadowSuffix) {
			one.Data["night.rego"] = "package holdshort.policy\n\ndeny contains {\"code\": \"a.example/No\", \"message\": \"no\"}\n"
		}
		if err := store.Create(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := withShadow(t)
	of := ConfigMaps{Cache: readCache{store: store}, Namespace: "ns", Names: []string{"policy"}}
	s.Source, s.Shadow.Source = of, ShadowConfigMaps{Of: of}
	s.step()
	digest := statusOf(t, s.c).Shadow.Digest
	s.spec(v1alpha1.PolicyRolloutSpec{Promote: v1alpha1.Digest(digest)})
	s.want(digest, v1alpha1.VerdictAwaitingApproval)
	reasons, err := s.Engine.Active().Deny(t.Context(), waiting(t, s.Engine.Active(), "one", "research", "").Input)
	if err != nil || len(reasons) != 1 || reasons[0].RuleAt != "policy/night.rego:3" {
		t.Errorf("denied by %+v, %v; want the rule at policy/night.rego:3", reasons, err)
	}
}

func TestAJobWithoutANameIsToldByItsNamespace(t *testing.T) {
	if got := nameOf(&policies.Workload{Namespace: "a"}); got != "a/(unnamed)" {
		t.Errorf("got %q", got)
	}
	var nobody *Shadow
	nobody.Hear(Asked{}) // no shadow: nothing happens
	if nobody.ReadsJob() {
		t.Error("no shadow reads the Job")
	}
}

func TestAShadowMayWriteWhatTheOneMayThatItStandsFor(t *testing.T) {
	store := cluster(t)
	for name, data := range map[string]string{"base": goodData, "team": "holdshort: {config: {custom: {ours: 1}}}\n",
		"team-shadow": "holdshort: {config: {custom: {ours: 2, theirs: 1}}}\n"} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{"data.yaml": data}}
		if err := store.Create(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	roots, err := engine.ParseRoots([]string{"holdshort.config.custom.ours"})
	if err != nil {
		t.Fatal(err)
	}
	of := ConfigMaps{Cache: readCache{store: store}, Namespace: "ns", Names: []string{"base", "team"}, Granted: map[string]engine.Roots{"team": roots}}
	_, err = ShadowConfigMaps{of}.Read(t.Context())
	var bad *engine.BundleError
	if !errors.As(err, &bad) || len(bad.Problems) != 1 || bad.Problems[0].File != "team-shadow/data.yaml" {
		t.Errorf("got %v, want one problem, of team-shadow/data.yaml", err)
	}
}

func TestAShadowNeedsTheConfigMapsBesideItAndSaysWhichItIs(t *testing.T) {
	store := cluster(t)
	of := ShadowConfigMaps{ConfigMaps{Cache: readCache{store: store}, Namespace: "ns", Names: []string{"base", "extra"}}}
	if none, err := of.Read(t.Context()); err != nil || len(none.Files) != 0 {
		t.Errorf("with nothing there: %v, %v; want no shadow", none, err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "base-shadow"}, Data: map[string]string{"data.yaml": "a: 2\n"}}
	if err := store.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	got, err := of.Read(t.Context())
	if err == nil || got.Source != "configmap base-shadow" {
		t.Errorf("got %q, %v; want the shadow's name, and that extra is not there", got.Source, err)
	}
}

func TestWhatTheShadowWouldGiveAJobIsOneDifferenceThatSaysAllOfIt(t *testing.T) {
	files := func(rule string) map[string]string {
		return map[string]string{"data.yaml": twoQueues, "mutate.rego": "package holdshort.policy.mutate\n\n" + rule}
	}
	active := compiled(t, files("labels := {\"a\": \"1\"}\n\nttlSecondsAfterFinished := 60 if input.workload.name == \"one\"\n"))
	for _, c := range []struct {
		name, rule string
		want       []difference
	}{
		{"the same in other words", "labels[\"a\"] := \"1\"\n\nttlSecondsAfterFinished := 60\n", nil},
		{"another label", "labels := {\"a\": \"2\"}\n", []difference{{"mutate", `{"labels":{"a":"1"},"ttlSecondsAfterFinished":60}`, `{"labels":{"a":"2"}}`}}},
		{"nothing", "labels := {}\n", []difference{{"mutate", `{"labels":{"a":"1"},"ttlSecondsAfterFinished":60}`, "nothing"}}},
		{"an error", "labels := {\"a b\": \"1\"}\n", []difference{{"error", "mutate: has an answer",
			`mutate: mutate.rego:3: mutate.labels: labels["a b"]: "a b" cannot be a key: `}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := Asked{Revision: active, Entrypoint: "mutate", Input: waiting(t, active, "one", "lab", "").Input}
			asked.Mutation, asked.Err = active.Mutate(t.Context(), asked.Input)
			got := differences(t.Context(), compiled(t, files(c.rule)), asked)
			for i := range got {
				got[i].shadow, _, _ = strings.Cut(got[i].shadow, "name part")
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(difference{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The policy in force labels each Job by "active".
func TestTheShadowIsAskedAboutWhatWaitsAsItWouldBeIfItWereInForce(t *testing.T) {
	active := compiled(t, map[string]string{"data.yaml": goodData, "m.rego": "package holdshort.policy.mutate\n\nlabels[\"by\"] := \"active\"\n"})
	const gives = "mutate.labels[\"by\"] := \"shadow\"\n\n"
	const reason = "{\"code\": \"a.example/No\", \"message\": \"no\"} if "
	const says = "a.example/No: no (s.rego:5)"
	for _, c := range []struct {
		name, entrypoint, rego string
		runs                   bool
		want                   []difference
	}{
		{name: "deny sees what the shadow gives", entrypoint: "deny",
			rego: gives + "deny contains " + reason + "input.workload.labels.by == \"shadow\"\n", want: []difference{{"deny", "nothing", says}}},
		{name: "and so in the raw object", entrypoint: "deny",
			rego: gives + "deny contains " + reason + "input.job.metadata.labels.by == \"shadow\"\n", want: []difference{{"deny", "nothing", says}}},
		{name: "warn does", entrypoint: "warn",
			rego: gives + "warn contains " + reason + "input.workload.labels.by == \"shadow\"\n", want: []difference{{"warn", "nothing", says}}},
		{name: "hold does", entrypoint: "hold",
			rego: gives + "hold contains " + reason + "input.workload.labels.by == \"shadow\"\n", want: []difference{{"hold", "nothing", says}}},
		{name: "classify does", entrypoint: "classify",
			rego: gives + "classify.priority := 7 if input.workload.labels.by == \"shadow\" else := 0\n", want: []difference{{"priority", "0", "7"}}},
		{name: "hold sees the shadow's verdict", entrypoint: "hold",
			rego: "classify.priority := 7\n\nhold contains " + reason + "input.verdict.priority == 7\n", want: []difference{{"hold", "nothing", says}}},
		{name: "what the policy in force gives is not there", entrypoint: "deny",
			rego: "deny contains " + reason + "input.workload.labels.by == \"active\"\n"},
		{name: "a mutate that fails is no difference of deny", entrypoint: "deny",
			rego: "mutate.labels[\"by\"] := \"b c\"\n\ndeny contains " + reason + "true\n"},
		{name: "what runs keeps what it has", entrypoint: "classify", runs: true,
			rego: gives + "classify.priority := 7 if input.workload.labels.by == \"shadow\" else := 0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			shadow := compiled(t, map[string]string{"data.yaml": goodData, "s.rego": "package holdshort.policy\n\n" + c.rego})
			live := waiting(t, active, "one", "research", "")
			asWritten(&live, nil)
			asked := Asked{Revision: active, Entrypoint: c.entrypoint, Input: live.Input, Given: live.Given, Verdict: live.Verdict}
			if c.runs {
				asked.Given = nil
			}
			if diff := cmp.Diff(c.want, differences(t.Context(), shadow, asked), cmp.AllowUnexported(difference{})); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
