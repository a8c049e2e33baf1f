package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/test/golden"
)

// aQueue is a data.yaml with the flavors a and b and one queue of these lines.
func aQueue(lines ...string) map[string][]byte {
	return config(append([]string{"flavors: {a: {}, b: {}}", "cohorts: {ai: {}}", "queues:", "  q:",
		"    flavors: [a, b]", "    namespaces: {all: true}"}, indent(lines)...)...)
}

func indent(lines []string) []string {
	indented := make([]string, len(lines))
	for i, line := range lines {
		indented[i] = "    " + line
	}
	return indented
}

func withCohorts(lines ...string) map[string][]byte {
	return config(append([]string{"flavors: {a: {}}", "queues: {}"}, lines...)...)
}

// badSharing is what is wrong with cohorts, and with what is not supported yet.
func badSharing() []badBundle {
	return []badBundle{
		{"cohorts in a circle", withCohorts("cohorts:", "  x: {parent: y}", "  y: {parent: z}", "  z: {parent: x}")},
		{"a cohort that is its own parent", withCohorts("cohorts:", "  x: {parent: x}")},
		{"a cohort with quota on a flavor that does not exist", withCohorts("cohorts:", "  x: {quota: {aa: {cpu: 4}}}")},
		{"a cohort with a weight below zero", withCohorts("cohorts:", "  x: {weight: -1}")},
		{"a cohort with a weight that is too fine", withCohorts("cohorts:", "  x: {weight: 1e-7}")},
		{"a cohort with more weight than can be counted with", withCohorts("cohorts:", "  x: {weight: 1000000.5}")},
		{"a cohort with a weight in quotes", withCohorts("cohorts:", "  x: {weight: \"0.5\"}")},
		{"a cohort with a weight that is no number at all", withCohorts("cohorts:", "  x: {weight: NaN}")},
		{"a cohort with a weight that is not a number", withCohorts("cohorts:", "  x: {weight: .nan}")},
		{"a queue with a weight that is too fine", aQueue("cohort: ai", "weight: 0.1234567", "quota: {}")},
		{"an unknown key in a cohort", withCohorts("cohorts:", "  x: {partent: y}")},
		{"fair sharing that does not say whether", withCohorts("fairSharing: {strategies: [LessThanInitialShare]}")},
		{"an unknown share strategy", withCohorts("fairSharing: {enabled: true, strategies: [LessThanInitalShare]}")},
		{"a share strategy twice", withCohorts("fairSharing:", "  enabled: true", "  strategies: [LessThanInitialShare, LessThanInitialShare]")},
		{"a conversion to a fraction", withCohorts("resources: {conversions: {nvidia.com/mig-1g.5gb: {slices: 0.5}}}")},
		{"a conversion to nothing", withCohorts("resources: {conversions: {nvidia.com/mig-1g.5gb: {}}}")},
		{"a conversion of a conversion", withCohorts("resources: {conversions: {x.org/a: {x.org/b: 2}, x.org/b: {x.org/c: 2}}}")},
		{"a unit for each of what is counted for each device itself", withCohorts("resources: {perDevice: {x.org/a: x.org/b, x.org/b: x.org/c}}")},
		{"a unit for each of no resource", withCohorts("resources: {perDevice: {x.org/a: ''}}")},
		{"units in a list", withCohorts("resources: {perDevice: [x.org/a]}")},
		{"a quota of what is charged as something else", config("flavors: {a: {}}", "queues: {q: {flavors: [a], quota: {a: {cpu: 4}}, namespaces: {all: true}}}", "resources: {conversions: {cpu: {units: 1}}}")},
		{"a cohort's quota of what is charged as something else", config("flavors: {a: {}}", "queues: {}", "cohorts: {ai: {quota: {a: {cpu: 4}}}}", "resources: {conversions: {cpu: {units: 1, more: 2}}}")},
		{"a group with what is charged as something else", config("flavors: {a: {}}", "queues: {q: {flavors: [a], quota: {a: {units: 4}}, groups: [{resources: [cpu, units], flavors: [a]}], namespaces: {all: true}}}", "resources: {conversions: {cpu: {units: 1}}}")},
		{"rivals from a name on", withCohorts("rivals: {fromPriority: high}")},
		{"rivals by another key", withCohorts("rivals: {priority: 0}")},
		{"kinds that would not queue", withCohorts("kinds:", "  JobSet: {managed: true}", "  Job: {managed: false}")},
		{"a flavor with an unknown placement", config("flavors: {a: {placement: exakt}}", "queues: {}")},
		{"a flavor with a negative bound", config("flavors: {a: {elastic: {max: -1}}}", "queues: {}")},
		{"a flavor with too many machines", config("flavors: {a: {nodeLabels: {pool: a}, elastic: {max: 10001, node: {cpu: 1}}}}", "queues: {}")},
		{"a machine that has nothing", config("flavors: {a: {nodeLabels: {pool: a}, elastic: {max: 1, node: {}}}}", "queues: {}")},
		{"a machine with what is no amount", config("flavors: {a: {nodeLabels: {pool: a}, elastic: {max: 1, node: {memory: lots, cpu: -1}}}}", "queues: {}")},
		{"a machine with what is no resource", config("flavors: {a: {nodeLabels: {pool: a}, elastic: {max: 1, node: {\"a b\": 1}}}}", "queues: {}")},
		{"an autoscaler that takes less than no time", config("flavors: {a: {nodeLabels: {pool: a}, elastic: {max: 1, node: {cpu: 1}, timeoutSeconds: -1}}}", "queues: {}")},
		{"a topology level twice", config("flavors: {a: {topology: [zone, zone]}}", "queues: {}")},
		{"a queue that borrows from nobody", aQueue("quota: {a: {cpu: {nominal: 4, borrowingLimit: 2}}}")},
		{"a queue that reclaims from nobody", aQueue("quota: {}", "preemption: {reclaimWithinCohort: Any}")},
		{"a borrowing limit that is no amount", aQueue("cohort: ai", "quota: {a: {memory: {nominal: 4Gi, borrowingLimit: lots}}}")},
		{"a misspelt lending limit", aQueue("cohort: ai", "quota: {a: {memory: {nominal: 4Gi, lendinglimit: 1Gi}}}")},
		{"a negative lending limit", aQueue("cohort: ai", "quota: {a: {cpu: {nominal: 4, lendingLimit: -1}}}")},
		{"any victim within the queue", aQueue("quota: {}", "preemption: {withinQueue: Any}")},
		{"a misspelt fungibility", aQueue("quota: {}", "fungibility: {whenCanBorrow: TryNextFlavour}")},
		{"a group with a flavor of another queue", aQueue("quota: {}", "groups: [{resources: [cpu], flavors: [c]}]")},
		{"a resource in two groups", aQueue("quota: {}", "groups: [{resources: [cpu], flavors: [a]}, {resources: [cpu], flavors: [b]}]")},
		{"a quota outside of its group", aQueue("quota: {b: {cpu: 4}}", "groups: [{resources: [cpu], flavors: [a]}]")},
		{"an empty group", aQueue("quota: {}", "groups: [{resources: [], flavors: []}]")},
		{"less than no workloads", aQueue("quota: {}", "maxWorkloads: -1")},
		{"a budget that nobody would keep to", aQueue("quota: {}", "budget: {hours: {nvidia.com/gpu: 100}, period: month}")},
		{"a budget over an unknown period", aQueue("quota: {}", "budget: {hours: {nvidia.com/gpu: 100}, period: moth}")},
		{"a class that is perhaps preemptible", withCohorts("classes: {urgent: {priority: 5, preemptible: maybe}}")},
	}
}

// badComparisons are those that always have the same outcome.
func badComparisons() []badBundle {
	const policy = "package holdshort.policy\n\nimport data.holdshort.lib\n\n"
	rule := func(body string) map[string][]byte {
		return oneRego(policy + "deny contains lib.reason(\"a.b/C\", \"no\") if {\n\t" + body + "\n}\n")
	}
	return []badBundle{
		{"an amount that equals a string", rule(`input.workload.total["nvidia.com/gpu"] == "4"`)},
		{"an amount above a string", rule(`input.workload.total["nvidia.com/gpu"] > "4"`)},
		{"an amount from the library above a string", rule(`lib.total("nvidia.com/gpu") > "4"`)},
		{"a label above a number", rule(`input.workload.labels.gpus > 4`)},
		{"a label with a default above a number", rule(`object.get(input.workload.labels, "gpus", "0") > 4`)},
		{"a requested amount of each pod that equals a string", rule("some set in input.workload.podSets\n\tset.requests.cpu == \"4\"")},
		{"a variable that stands for a label", rule("gpus := input.workload.labels.gpus\n\t8 < gpus")},
		{"a name that equals a number, in a comprehension", rule(`count([1 | some set in input.workload.podSets; set.name == 1]) > 0`)},
		{"a priority that equals a string", rule(`some class in data.holdshort.config.classes` + "\n\t" + `class.priority == "100"`)},
		{"a misspelt field of each pod set", rule("some set in input.workload.podSets\n\tset.cuont > 4")},
		{"a misspelt field of each queue", rule("some queue in data.holdshort.config.queues\n\tqueue.flavrs[_] == \"a\"")},
		{"a misspelt field of each queue, with every", rule("every queue in data.holdshort.config.queues {\n\t\tqueue.strateggy == \"StrictFIFO\"\n\t}")},
		{"a misspelt workload that nothing asks for", oneRego(policy + "helper if input.workload.quueue == \"a\"\n")},
		{"groups that equal a set", rule(`input.request.groups == {"dev"}`)},
		{"a string given to a number's built-in", rule(`abs(input.workload.queue) > 4`)},
	}
}

// badCustom has mistakes that only the values of the data show.
func badCustom() []badBundle {
	const head = "package holdshort.policy\n\nimport data.holdshort.lib\n\n"
	deny := func(custom, body string) map[string][]byte {
		return withCustom(custom, head+"deny contains lib.reason(\"a.b/C\", \"no\") if {\n\t"+body+"\n}\n")
	}
	return []badBundle{
		{"a sum with a number in quotes of the data", withCustom(`{gold: "50"}`, head+"classify.priority := lib.class_priority + data.holdshort.config.custom.gold\n")},
		{"an amount above a number in quotes of the data", deny(`{big: {gpus: "4"}}`, `lib.total("nvidia.com/gpu") > data.holdshort.config.custom.big.gpus`)},
		{"the same with names for both", deny(`{big: {gpus: "4"}}`, "most := data.holdshort.config.custom.big.gpus\n\tasked := lib.total(\"nvidia.com/gpu\")\n\tasked > most")},
		{"an amount above each of the numbers in quotes", deny(`{caps: {a: "4", b: "5"}}`, "some team, most in data.holdshort.config.custom.caps\n\tinput.workload.namespace == team\n\tlib.total(\"nvidia.com/gpu\") > most")},
		{"an amount above that of the namespace", deny(`{caps: {a: {gpus: "4"}}}`, `lib.total("nvidia.com/gpu") > data.holdshort.config.custom.caps[input.workload.namespace].gpus`)},
		{"an amount above one that a rule stands for", withCustom(`{big: {gpus: "4"}}`, head+"big := data.holdshort.config.custom.big\n\ndeny contains lib.reason(\"a.b/C\", \"no\") if lib.total(\"cpu\") > big.gpus\n")},
		{"an amount above text", deny(`{most: four}`, `lib.total("cpu") > data.holdshort.config.custom.most`)},
		{"an amount above one that is looked up", deny(`{most: "4"}`, `lib.total("cpu") > object.get(data.holdshort.config.custom, "most", 4)`)},
		{"a label that equals a number of the data", deny(`{tier: 1}`, `input.workload.labels.tier == data.holdshort.config.custom.tier`)},
		{"a number of the data where text belongs", deny(`{prefix: 7}`, `startswith(input.workload.name, data.holdshort.config.custom.prefix)`)},
		{"a list of the data where a number belongs", deny(`{most: [4]}`, `lib.total("cpu") > data.holdshort.config.custom.most * 2`)},
	}
}

func withCustom(custom, rego string) map[string][]byte {
	bundle := withRego(rego)
	bundle.Files["custom.data.yaml"] = []byte("holdshort: {config: {custom: " + custom + "}}\n")
	return bundle.Files
}

func TestComparisonsThatTheDataAllowsAreNotRefused(t *testing.T) {
	const head = "package holdshort.policy\n\nimport data.holdshort.lib\n\ndeny contains lib.reason(\"a.b/C\", \"no\") if {\n\t"
	cases := []struct{ name, custom, body, warning string }{
		{"a number", `{most: 4}`, `lib.total("cpu") > data.holdshort.config.custom.most`, ""},
		{"one that is not there, with a default", `{}`, `lib.total("cpu") > object.get(data.holdshort.config.custom, "most", 4)`, ""},
		{"a moment as text", `{from: "2026-12-20T00:00:00Z"}`, `lib.at(data.holdshort.config.custom.from) > 5`, ""},
		{"text in quotes that is made a number", `{most: "4"}`, `lib.total("cpu") > to_number(data.holdshort.config.custom.most)`, ""},
		{"text where the rule looks at the type first", `{most: unlimited}`, "is_number(data.holdshort.config.custom.most)\n\tlib.total(\"cpu\") > data.holdshort.config.custom.most", ""},
		{"null", `{most: null}`, `lib.total("cpu") > data.holdshort.config.custom.most`, ""},
		{"one of two in quotes", `{caps: {a: 4, b: "4"}}`, `lib.total("cpu") > data.holdshort.config.custom.caps[input.workload.namespace]`,
			`policy.rego:6: lib.total("cpu") is a number and is compared with data.holdshort.config.custom.caps[input.workload.namespace], which is a number or a string. Try: custom.caps[…] without quotes in the data`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, warning := range mustCompile(t, Bundle{Files: withCustom(c.custom, head+c.body+"\n}\n")}).Warnings() {
				got = append(got, warning.String())
			}
			if text := strings.Join(got, "\n"); text != c.warning {
				t.Errorf("warnings\n%s\nwant\n%s", text, c.warning)
			}
		})
	}
}

func TestComparisonsThatCanBeTrueAreNotRefused(t *testing.T) {
	for name, body := range map[string]string{
		"amounts with numbers":                     `input.workload.total["nvidia.com/gpu"] > 4`,
		"amounts with amounts":                     "some set in input.workload.podSets\n\tset.requests.cpu < input.workload.total.cpu",
		"labels with strings":                      `input.workload.labels.team == "a"`,
		"labels as numbers":                        `to_number(input.workload.labels.gpus) > 4`,
		"a default of another kind":                `object.get(input.workload.labels, "gpus", 0) == 0`,
		"what is the author's own":                 `data.holdshort.config.custom.limit > "4"`,
		"a quota, which may be written in any way": `data.holdshort.config.queues.q.quota.a.cpu == "4"`,
		"the raw Job":                              `input.job.spec.parallelism > 4`,
		"groups in a set":                          "some group in input.request.groups\n\tgroup in {\"dev\"}",
		"flavors from data":                        "some name, flavor in data.holdshort.config.flavors\n\tflavor.verify == \"none\"\n\tname != \"x\"",
		"a value that is replaced":                 `not blocked with input.workload.queue as 4`,
	} {
		t.Run(name, func(t *testing.T) {
			text := "package holdshort.policy\n\nimport data.holdshort.lib\n\nblocked if input.workload.queue == \"b\"\n\n" +
				"deny contains lib.reason(\"a.b/C\", \"no\") if {\n\t" + body + "\n}\n"
			if _, err := Compile(context.Background(), withRego(text), Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatIsNotEnforcedIsWarnedOfOncePerFeature(t *testing.T) {
	b := Bundle{Files: config(
		"flavors:", "  a: {elastic: {max: 4}, nodeLabels: {pool: a}, placement: exact, topology: [zone, rack]}", "  b: {topology: [zone]}",
		"cohorts: {ai: {weight: 2, quota: {a: {cpu: 100}}}, all: {}}",
		"fairSharing: {enabled: true}",
		"resources: {conversions: {nvidia.com/mig-1g.5gb: {slices: 1}, nvidia.com/gpu: {slices: 7}}}",
		"kinds: {Job: {managed: true}}",
		"classes: {urgent: {priority: 10, preemptible: false}}",
		"queues:", "  p: {cohort: ai, weight: 0.5, flavors: [a], namespaces: {all: true}, quota: {a: {slices: {nominal: 4, borrowingLimit: 2, lendingLimit: 1}}}}",
		"  q:", "    cohort: ai", "    flavors: [a, b]", "    namespaces: {all: true}", "    quota: {a: {slices: 4}, b: {cpu: 8}}",
		"    groups: [{resources: [slices], flavors: [a]}, {resources: [cpu], flavors: [b]}]",
		"    strategy: Backfill", "    recoveryTimeoutSeconds: 300", "    fungibility: {whenCanBorrow: TryNextFlavor}",
		"    preemption: {withinQueue: LowerPriority, reclaimWithinCohort: Any, borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 100}}",
	)}
	b.Files["policy.rego"] = []byte("package holdshort.policy\n\nimport data.holdshort.lib\n\n" +
		"classify.minRuntimeSeconds := 600\n\nprotect contains lib.reason(\"a.b/C\", \"just begun\") if input.victim.ran_s < 60\n")
	r := mustCompile(t, b)
	var said strings.Builder
	for _, warning := range r.Warnings() {
		said.WriteString(warning.String() + "\n")
	}
	golden.Compare(t, *update, "not_enforced.golden", said.String())
	queue := r.Catalog().Queues["p"]
	limit := queue.Quota["a"]["slices"]
	if diff := cmp.Diff([]int64{500_000, 4, 2, 1}, []int64{queue.Weight.Millionths(), limit.Nominal, *limit.BorrowingLimit, *limit.LendingLimit}); diff != "" {
		t.Errorf("weight and limits of p (-want +got):\n%s", diff)
	}
}

func TestALendingLimitAboveNominalIsWarnedOfWithItsPath(t *testing.T) {
	for name, c := range map[string]struct{ limit, want string }{
		"above": {"{nominal: 4, lendingLimit: 5}", "data.yaml:9: queues.q.quota.a.cpu.lendingLimit: it is above nominal, and no more than that can be lent. Try: leave it out, or set less than nominal\n"},
		"equal": {"{nominal: 4, lendingLimit: 4}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, warnings(t, aQueue("quota: {a: {cpu: "+c.limit+"}}", "cohort: ai"))); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// warned is what a bundle with one queue q of the cohort ai is warned of.
func warned(t *testing.T, rows ...string) string {
	t.Helper()
	return warnings(t, aQueue(append([]string{"quota: {a: {cpu: 4}}", "cohort: ai"}, rows...)...))
}

// warnings of a bundle, a line each.
func warnings(t *testing.T, files map[string][]byte) string {
	t.Helper()
	var said strings.Builder
	for _, warning := range mustCompile(t, Bundle{Files: files}).Warnings() {
		said.WriteString(warning.String() + "\n")
	}
	return said.String()
}

func TestWeightsAndRightsThatShareNothingAreWarnedOf(t *testing.T) {
	const fair = "holdshort: {config: {fairSharing: {enabled: true}}}\n"
	for name, c := range map[string]struct{ row, more, want string }{
		"a weight where sharing is not fair": {"weight: 2", "", "data.yaml:11: queues.q.weight: weights count only where sharing is fair. Try: fairSharing: {enabled: true}, or leave it out\n"},
		"a weight where it is":               {"weight: 2", fair, ""},
		"a right to borrow where shares say who makes room": {"preemption: {reclaimWithinCohort: Any, borrowWithinCohort: {policy: LowerPriority}}", fair,
			"data.yaml:11: queues.q.preemption.borrowWithinCohort: where sharing is fair, shares say who makes room for whom. Try: leave it out\n"},
	} {
		t.Run(name, func(t *testing.T) {
			files := aQueue("quota: {a: {cpu: 4}}", "cohort: ai", c.row)
			if c.more != "" {
				files["more.data.yaml"] = []byte(c.more)
			}
			if diff := cmp.Diff(c.want, warnings(t, files)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRightsThatLackWhatTheyRestOnAreWarnedOf(t *testing.T) {
	for name, c := range map[string]struct{ rights, want string }{
		"borrowing without reclaiming": {"{borrowWithinCohort: {policy: LowerPriority}}", "data.yaml:11: queues.q.preemption.borrowWithinCohort: without reclaimWithinCohort nobody of another queue makes room. Try: reclaimWithinCohort: LowerPriority beside it, or Any\n"},
		"a threshold without a policy": {"{reclaimWithinCohort: Any, borrowWithinCohort: {maxPriorityThreshold: 5}}", "data.yaml:11: queues.q.preemption.borrowWithinCohort.maxPriorityThreshold: without a policy nobody makes room. Try: policy: LowerPriority beside it\n"},
		"both as they should be":       {"{reclaimWithinCohort: Any, borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 5}}", ""},
		"borrowing that nobody may":    {"{borrowWithinCohort: {policy: Never}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, warned(t, "preemption: "+c.rights)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLimitsOfCohortsAreWarnedOfWhereTheyMeanNothing: a cohort lends what is below
// it, too, so more than its own is no mistake; one without a parent lends nothing.
func TestLimitsOfCohortsAreWarnedOfWhereTheyMeanNothing(t *testing.T) {
	for name, c := range map[string]struct{ cohort, want string }{
		"lends more than its own, to its parent": {"parent: top, ", ""},
		"has no parent":                          {"", "more.data.yaml:1: cohorts.mid.quota.a.cpu: a cohort without a parent neither borrows nor lends. Try: parent: NAME, or leave the limits out\n"},
	} {
		t.Run(name, func(t *testing.T) {
			files := aQueue("quota: {a: {cpu: 4}}", "cohort: mid")
			files["more.data.yaml"] = []byte("holdshort: {config: {cohorts: {top: {}, mid: {" + c.cohort + "quota: {a: {cpu: {nominal: 1, lendingLimit: 5}}}}}}}\n")
			if diff := cmp.Diff(c.want, warnings(t, files)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyNamedCohortIsWarnedOf(t *testing.T) {
	r := mustCompile(t, Bundle{Files: aQueue("quota: {}", "cohort: au")})
	want := `data.yaml:10: queues.q.cohort: cohort "au" is not under cohorts, so it has no quota of its own. Try: ai`
	for _, warning := range r.Warnings() {
		if warning.String() == want {
			return
		}
	}
	t.Errorf("warnings %v; want %s", r.Warnings(), want)
}

func TestAConversionIntoWhatNobodyCountsIsWarnedOf(t *testing.T) {
	bundle := func(charged string) map[string][]byte {
		return config("flavors: {a: {}}", "resources: {conversions: {nvidia.com/gpu: {"+charged+": 7}}}",
			"queues: {q: {flavors: [a], namespaces: {all: true}, quota: {a: {slices: 4}}}}")
	}
	for charged, want := range map[string]string{
		"slices": "",
		"memory": "", // of which everybody has as much as he likes
		"slice": "data.yaml:4: resources.conversions[\"nvidia.com/gpu\"].slice: no quota and no list of resources has slice, " +
			"so whoever asks for nvidia.com/gpu is held. Try: slices\n",
	} {
		if diff := cmp.Diff(want, warnings(t, bundle(charged))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", charged, diff)
		}
	}
}

func TestAnAmountForEachDeviceThatNobodyCountsIsWarnedOf(t *testing.T) {
	bundle := func(name string) map[string][]byte {
		return config("flavors: {a: {}}", "resources: {perDevice: {"+name+": nvidia.com/gpu}}",
			"queues: {q: {flavors: [a], namespaces: {all: true}, quota: {a: {nvidia.com/gpu: 4, nvidia.com/gpumem: 4}}}}")
	}
	for name, want := range map[string]string{
		"nvidia.com/gpumem": "",
		"nvidia.com/gpumen": "data.yaml:4: resources.perDevice[\"nvidia.com/gpumen\"]: no quota and no list of resources has nvidia.com/gpumen, " +
			"so whoever asks for it is held. Try: nvidia.com/gpumem\n",
	} {
		if diff := cmp.Diff(want, warnings(t, bundle(name))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
