package engine

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

func reads(t *testing.T, r *Revision, entrypoint string) []string {
	t.Helper()
	for _, reads := range r.Reads() {
		if reads.Entrypoint == entrypoint {
			return reads.Input
		}
	}
	return nil
}

func TestWhatAnEntrypointReadsIsKnownToTheLabel(t *testing.T) {
	const deny = "package holdshort.policy\n\nimport data.holdshort.lib\n\ndeny contains lib.reason(\"a.example/B\", \"c\") if {\n"
	cases := []struct {
		name, rego string
		want       []string
	}{
		{"a label by its name", deny + "\tinput.workload.labels.team == \"a\"\n}\n", []string{"input.workload.labels.team"}},
		{"a label through the library", deny + "\tlib.label(\"team.example/x\", \"\") == \"a\"\n}\n",
			[]string{`input.workload.labels["team.example/x"]`}},
		{"a label through a function of one's own that calls the library", deny + "\tmine(\"x\")\n}\n\nmine(key) if lib.label(key, \"\") == \"a\"\n",
			[]string{"input.workload.labels.x"}},
		{"a label whose name is computed is all labels", deny + "\tlib.label(lower(\"X\"), \"\") == \"a\"\n}\n", []string{"input.workload.labels"}},
		{"a local name for a part", deny + "\tw := input.workload\n\tw.queue == \"a\"\n\tw.user == \"b\"\n}\n",
			[]string{"input.workload.queue", "input.workload.user"}},
		{"a local name that is passed on is all of it", deny + "\tw := input.workload\n\tw.queue == \"a\"\n\tcount(w) > 3\n}\n", []string{"input.workload"}},
		{"a part of the raw Job", deny + "\tinput.job.spec.template.metadata.labels.x == \"a\"\n}\n", []string{"input.job.spec.template.metadata.labels.x"}},
		{"elements of a list are all of the list", deny + "\tsome set in input.workload.podSets\n\tset.count > 3\n}\n", []string{"input.workload.podSets"}},
		{"the whole input is all that is granted", deny + "\twalk(input, [_, \"x\"])\n}\n",
			[]string{"input.job", "input.namespace", "input.old", "input.request", "input.workload"}},
		{"an else branch", deny + "\tsize > 3\n}\n\nsize := 1 if input.workload.queue == \"a\"\n\nelse := 4 if input.workload.user == \"b\"\n",
			[]string{"input.workload.queue", "input.workload.user"}},
		{"whether something is there", deny + "\tnot input.workload.owner\n}\n", []string{"input.workload.owner"}},
		{"a rule of another entrypoint", deny + "\tdata.holdshort.policy.classify.queue == \"a\"\n}\n\nclassify.queue := input.namespace.labels.team\n",
			[]string{"input.namespace.labels.team"}},
		{"a resource through the library", deny + "\tlib.total(\"nvidia.com/gpu\") > 3\n}\n", []string{`input.workload.total["nvidia.com/gpu"]`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, reads(t, mustCompile(t, withRego(c.rego)), groupDeny)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDefaultsReadOneLabelAndNamedParts(t *testing.T) {
	r := mustCompile(t, starter())
	want := []string{`input.workload.labels["holdshort.dev/priority"]`, "input.workload.namespace",
		"input.workload.priorityClassValue", "input.workload.queue"}
	if diff := cmp.Diff(want, reads(t, r, groupClassify)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What the analysis leaves out of the input must not change any answer.
func TestAnswersAreTheSameOnAllOfTheInputAndOnWhatIsRead(t *testing.T) {
	const head = "package holdshort.policy\n\nimport data.holdshort.lib\n\n"
	const deny = head + "deny contains lib.reason(\"a.example/B\", sprintf(\"%v\", [x])) if "
	for _, rego := range []string{
		deny + "{\n\tsome key\n\tx := input.workload[key]\n\tkey in {\"queue\", \"user\"}\n}\n",
		deny + "{\n\tw := input.workload\n\tl := w.labels\n\tx := l[\"holdshort.dev/queue\"]\n}\n",
		deny + "{\n\tx := {k: v | some k, v in input.workload.labels}\n}\n",
		deny + "{\n\tx := object.get(input, [\"workload\", \"labels\", \"holdshort.dev/queue\"], \"none\")\n}\n",
		deny + "{\n\tx := object.get(input.workload, \"total\", {})\n}\n",
		deny + "{\n\tw := object.get(input, \"workload\", {})\n\tx := w.queue\n}\n",
		deny + "{\n\tx := mine(input.workload, \"queue\")\n}\n\nmine(w, key) := w[key]\n",
		deny + "{\n\tx := mine(\"queue\")\n}\n\nmine(key) := input.workload[key]\n",
		deny + "{\n\tx := mine(\"queue\", \"user\")\n}\n\nmine(a, b) := object.get(input.workload, [a], b)\n",
		deny + "{\n\tx := mine(\"other\")\n}\n\nmine(\"queue\") := input.workload.queue\n\nmine(key) := input.workload.user if key != \"queue\"\n",
		deny + "{\n\tx := mine(\"queue\")\n}\n\nmine(key) := [k | k := lower(\"USER\"); key == \"queue\"; input.workload[k]]\n",
		deny + "{\n\tx := input.workload with input.workload.queue as \"other\"\n}\n",
		deny + "{\n\tx := q with input as object.union(input, {\"old\": 1})\n}\n\nq := [input.workload.queue, input.old]\n",
		deny + "{\n\tx := q with input.workload.labels as {\"y\": \"z\"}\n}\n\nq := [input.workload.user, input.workload.labels.y]\n",
		deny + "{\n\tevery set in input.workload.podSets { set.count > 0 }\n\tx := count(input.workload.podSets)\n}\n",
		deny + "{\n\tnot input.workload.owner\n\tx := \"alone\"\n}\n",
		deny + "{\n\tw := input.workload\n\tnot w.owner.kind\n\tx := json.filter(w, [\"labels\"])\n}\n",
		deny + "{\n\tx := data.holdshort.policy.classify[_]\n}\n",
		deny + "{\n\tx := data.holdshort.policy[\"classify\"]\n}\n",
		deny + "{\n\tx := by[\"default\"]\n}\n\nby[input.workload.queue] := input.workload.user\n",
		deny + "{\n\tsome key in [\"holdshort.dev/queue\", \"holdshort.dev/priority\"]\n\tx := lib.label(key, \"\")\n}\n",
		deny + "{\n\t{\"a\": x} = {\"a\": input.workload.user}\n}\n",
		deny + "{\n\t[x, _] = [input.workload.labels, 1]\n}\n",
		deny + "{\n\tinput.workload = w\n\tx := w.namespace\n}\n",
		deny + "{\n\tx := is_object(input.workload.annotations)\n}\n",
		deny + "{\n\tx := $\"{input.workload.user} of {input.workload.queue}\"\n}\n",
	} {
		r := mustCompile(t, withRego(rego))
		p := r.probes[groupDeny]
		in := job()
		in.Request = &policies.Request{Operation: "CREATE", Groups: []string{}}
		whole := newView()
		for _, name := range mayRead(groupDeny) {
			whole.add([]string{name})
		}
		var got []ast.Value
		for _, seen := range []*view{whole, p.seen} {
			input, err := r.encoder.value(in, seen)
			if err != nil {
				t.Fatal(err)
			}
			result, err := p.eval(context.Background(), input, r.options.Deadline)
			if err != nil {
				t.Fatalf("%s\n%v", rego, err)
			}
			got = append(got, result.of(0))
		}
		if got[0].Compare(got[1]) != 0 {
			t.Errorf("%s\nreads %v\non all of the input %v\non what is read  %v", rego, p.seen.paths("input"), got[0], got[1])
		}
		if reasons, err := r.Deny(context.Background(), in); err != nil || len(reasons) == 0 {
			t.Errorf("%s\nthe rule says nothing: %v, %v", rego, reasons, err)
		}
	}
}
