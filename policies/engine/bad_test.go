package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/golden"
)

var update = flag.Bool("update", false, "write golden files")

// config is a data.yaml around the lines of holdshort.config.
func config(lines ...string) map[string][]byte {
	return map[string][]byte{"data.yaml": []byte("holdshort:\n  config:\n    " + strings.Join(lines, "\n    ") + "\n")}
}

func oneRego(text string) map[string][]byte { return withRego(text).Files }

func files(pairs ...string) map[string][]byte {
	all := map[string][]byte{}
	for i := 0; i+1 < len(pairs); i += 2 {
		all[pairs[i]] = []byte(pairs[i+1])
	}
	return all
}

type badBundle struct {
	name  string
	files map[string][]byte
}

func badData() []badBundle {
	return []badBundle{
		{"no file at all", nil},
		{"only a README", files("README.md", "hello")},
		{"a data file with only a comment", files("data.yaml", "# nothing\n")},
		{"a config without queues", config("flavors: {gpu: {}}")},
		{"broken YAML", files("data.yaml", "holdshort:\n  config:\n   queues: [\n")},
		{"a tab in YAML", files("data.yaml", "holdshort:\n\tconfig: {}\n")},
		{"a row of YAML that is too far in", config("flavors: {a: {}}", "queues:", "  a:", "    flavors: [a]", "     quota: {}", "  b: {}")},
		{"a row of YAML that is not far enough in", config("flavors: {a: {}}", "queues:", "  a:", "    flavors: [a]", "   quota: {}", "  b: {}")},
		{"a bracket of YAML that is never closed, and another that is", config("flavors: {", "  a: {}}", "queues:", "  a:", "    flavors: [a", "    quota: {}")},
		{"a quote of YAML that is never closed", config("flavors: {a: {nodeLabels: {x: \"y}}}", "queues: {}")},
		{"text with a colon in YAML", config("custom: {why: no}", "flavors: a: b")},
		{"text that begins with a sign in YAML", config("custom:", "  who: @team")},
		{"a key of YAML without its colon", config("flavors: {}", "queues", "  a: {}")},
		{"a key twice in YAML", config("flavors: {a: {}}", "queues: {}", "flavors: {b: {}}")},
		{"two YAML documents", files("data.yaml", "holdshort: {}\n---\nholdshort: {}\n")},
		{"config without its wrapping", files("data.yaml", "queues: {}\n")},
		{"a second root", files("data.yaml", "holdshort: {config: {flavors: {}, queues: {}}, extra: 1}\n")},
		{"an unknown key at the top of config", config("flavors: {}", "queues: {}", "qeues: {}")},
		{"an unknown key in a queue", config("flavors: {gpu: {}}", "queues:", "  a:", "    flavors: [gpu]", "    quota: {}", "    namespace: {all: true}")},
		{"a queue that is null", config("flavors: {gpu: {}}", "queues:", "  a:")},
		{"a flavor that is null", config("flavors:", "  gpu:", "queues: {}")},
		{"queues that are null", config("flavors: {}", "queues:")},
		{"a negative quota", config("flavors: {gpu: {}}", "queues:", "  a:", "    flavors: [gpu]", "    quota: {gpu: {nvidia.com/gpu: -1}}")},
		{"a quota beyond counting", config("flavors: {gpu: {}}", "queues:", "  a:", "    flavors: [gpu]", "    quota: {gpu: {nvidia.com/gpu: 99999999999999999999}}")},
		{"cpu beyond counting in thousandths", config("flavors: {gpu: {}}", "queues:", "  a:", "    flavors: [gpu]", "    quota: {gpu: {cpu: 9223372036854775807}}")},
		{"half a GPU", config("flavors: {gpu: {}}", "queues:", "  a:", "    flavors: [gpu]", "    quota: {gpu: {nvidia.com/gpu: 0.5}}")},
		{"a quota that is no quantity", config("flavors: {gpu: {}}", "queues:", "  a:", "    flavors: [gpu]", "    quota: {gpu: {memory: 8 GB}}")},
		{"a quota that is a list", config("flavors: {gpu: {}}", "queues:", "  a:", "    flavors: [gpu]", "    quota: {gpu: {memory: [8]}}")},
		{"an unknown key in a limit", config("flavors: {gpu: {}}", "queues:", "  a:", "    flavors: [gpu]", "    quota: {gpu: {memory: {nominl: 8}}}")},
		{"a flavor that does not exist", config("flavors: {h100: {}}", "queues:", "  a:", "    flavors: [h10]", "    quota: {}")},
		{"a quota for a flavor that the queue does not list", config("flavors: {a: {}, b: {}}", "queues:", "  q:", "    flavors: [a]", "    quota: {b: {cpu: 1}}")},
		{"a flavor listed twice", config("flavors: {a: {}}", "queues:", "  q:", "    flavors: [a, a]", "    quota: {}")},
		{"a queue without flavors", config("flavors: {a: {}}", "queues:", "  q:", "    flavors: []", "    quota: {}")},
		{"a queue that says nothing", config("flavors: {a: {}}", "queues:", "  q: {}")},
		{"a queue name that cannot be a label", config("flavors: {a: {}}", "queues:", "  Team_A: {flavors: [a], quota: {}}")},
		{"an unknown strategy", config("flavors: {a: {}}", "queues:", "  q: {flavors: [a], quota: {}, strategy: StrictFifo}")},
		{"a negative number of attempts", config("flavors: {a: {}}", "queues:", "  q: {flavors: [a], quota: {}, backoff: {limitCount: -1}}")},
		{"a negative timeout", config("flavors: {a: {}}", "queues:", "  q: {flavors: [a], quota: {}, podsReadyTimeoutSeconds: -5}")},
		{"a fractional timeout", config("flavors: {a: {}}", "queues:", "  q: {flavors: [a], quota: {}, podsReadyTimeoutSeconds: 1.5}")},
		{"a taint without effect", config("flavors:", "  a:", "    taints: [{key: gpu}]", "queues: {}")},
		{"a taint with an unknown effect", config("flavors:", "  a:", "    taints: [{key: gpu, effect: NoScedule}]", "queues: {}")},
		{"a class whose priority is a string", config("flavors: {}", "queues: {}", "classes:", "  urgent: {priority: \"100\"}")},
		{"a class without priority", config("flavors: {}", "queues: {}", "classes:", "  urgent: {}")},
		{"the same leaf in two files", files("a.data.yaml", "holdshort: {config: {flavors: {a: {}}, queues: {}, unreserved: charge}}", "data.yaml", "holdshort:\n  config:\n    unreserved: suspend\n")},
	}
}

func badRego() []badBundle {
	const policy = "package holdshort.policy\n\n"
	const classify = "package holdshort.policy.classify\n\n"
	return []badBundle{
		{"a Rego syntax error", oneRego(policy + "deny contains x if {\n\tx := \n}\n")},
		{"Rego of the old syntax", oneRego(policy + "deny[x] {\n\tx := 1\n}\n")},
		{"an empty Rego file", oneRego("# nothing\n")},
		{"an unused variable", oneRego(policy + "deny contains {\"code\": \"a\", \"message\": \"b\"} if {\n\tx := 1\n}\n")},
		{"http.send", oneRego(policy + "deny contains {\"code\": \"a\", \"message\": m} if {\n\tm := http.send({\"method\": \"get\", \"url\": \"http://x\"}).raw_body\n}\n")},
		{"the clock", oneRego(policy + "hold contains {\"code\": \"a\", \"message\": \"b\"} if time.now_ns() > 5\n")},
		{"opa.runtime", oneRego(policy + "hold contains {\"code\": \"a\", \"message\": opa.runtime().env.HOME}\n")},
		{"an unknown library function", oneRego("package holdshort.policy\n\nimport data.holdshort.lib\n\nhold contains lib.raeson(\"a\", \"b\")\n")},
		{"a package outside", oneRego("package team.policy\n\nx := 1\n")},
		{"a rule over config", oneRego("package holdshort.config\n\nqueues := {}\n")},
		{"deny as a complete rule", oneRego(policy + "deny := {\"no\"}\n")},
		{"deny as a function", oneRego(policy + "deny(x) := x\n")},
		{"a reason that is a string", oneRego(policy + "deny contains \"no\"\n")},
		{"two good reasons and one in Gatekeeper's form, in another file", files("data.yaml", string(starter().Files["data.yaml"]),
			"a.rego", policy+"import data.holdshort.lib\n\ndeny contains lib.reason(\"a.b/C\", \"no\") if input.workload.user == \"a\"\n\ndeny contains lib.reason(\"a.b/D\", \"no\") if input.workload.user == \"b\"\n",
			"other.rego", policy+"deny contains msg if {\n\tinput.workload.user == \"c\"\n\tmsg := sprintf(\"%s\", [\"no\"])\n}\n")},
		{"two priorities that are strings, computed, and one that is not", oneRego(classify + "priority := 5 if input.workload.user == \"a\"\n\npriority := p if {\n\tinput.workload.user == \"b\"\n\tp := concat(\"\", [\"hi\", \"gh\"])\n}\n\npriority := lower(\"X\") if input.workload.user == \"c\"\n\nelse := 4\n")},
		{"a library function that reads what deny does not see", oneRego(policy + "import data.holdshort.lib\n\ndeny contains lib.reason(\"a.b/C\", \"no\") if lib.user_used(\"nvidia.com/gpu\") > 4\n\nwarn contains lib.reason(\"a.b/C\", \"no\") if lib.user_used(\"nvidia.com/gpu\") > 4\n\ndeny contains lib.reason(\"a.b/D\", \"no\") if {\n\tlib.user_used(\"cpu\") > 4\n\tlib.waited > 5\n}\n")},
		{"a library function that reads what classify does not see", oneRego(classify + "import data.holdshort.lib\n\npriority := lib.waited\n")},
		{"usage read by deny itself", oneRego(policy + "deny contains {\"code\": \"a.b/C\", \"message\": \"no\"} if input.usage.running > 4\n")},
		{"the namespace read by hold", oneRego(policy + "hold contains {\"code\": \"a.b/C\", \"message\": \"no\"} if input.namespace.name == \"a\"\n")},
		{"a library that is not imported", oneRego(policy + "deny contains lib.reason(\"a.b/C\", \"no\") if lib.total(\"cpu\") > 4\n\nhold contains lib.reason_until(\"a.b/C\", \"no\", 5)\n")},
		{"a constant of a library that is not imported", oneRego(policy + "deny contains {\"code\": \"a.b/C\", \"message\": \"no\"} if lib.pods > 4\n")},
		{"a variable without a value", oneRego(policy + "deny contains {\"code\": \"a.b/C\", \"message\": why}\n")},
		{"a rule that is not finished", oneRego(policy + "deny contains {\n")},
		{"a reason without code", oneRego(policy + "deny contains {\"message\": \"no\"}\n")},
		{"a reason with an unknown key", oneRego(policy + "deny contains {\"code\": \"a\", \"msg\": \"no\", \"message\": \"no\"}\n")},
		{"a priority that is a string", oneRego(classify + "priority := 5 if input.workload.user == \"a\"\n\npriority := \"high\" if input.workload.user != \"a\"\n")},
		{"a queue that is a set", oneRego(classify + "queue contains \"a\"\n")},
		{"an order that is a set", oneRego(classify + "order := {1, 2}\n")},
		{"classify that reads usage", oneRego(classify + "priority := 1 if input.usage.running > 3\n\nelse := 0\n")},
		{"classify that reads the time through a helper", oneRego(classify + "priority := 1 if late\n\nelse := 0\n\nlate if input.now_ns > 5\n")},
		{"a misspelt part of input", oneRego(classify + "priority := 1 if input.worklod.user == \"a\"\n\nelse := 0\n")},
		{"a catalog that reads a workload", oneRego("package holdshort.policy.catalog\n\nunreserved := \"charge\" if input.workload.user == \"a\"\n")},
		{"flavors that depend on the time", oneRego("package holdshort.policy.catalog\n\nflavors := {} if input.now_ns > 4\n")},
		{"a catalog that reads what it does not see of the machines", oneRego("package holdshort.policy.catalog\n\nunreserved := \"charge\" if input.capacity.gpu.cpu.free > 4\n")},
		{"data that is nowhere", oneRego(classify + "priority := data.classes.x\n")},
		{"a misspelt part of config", oneRego(classify + "priority := data.holdshort.config.clases.x.priority\n")},
		{"a misspelt part of config after else", oneRego(classify + "priority := 1 if input.workload.user == \"a\"\n\nelse := data.holdshort.config.clases.x.priority\n")},
		{"a misspelt part of config under another name", oneRego("package holdshort.policy.classify\n\nimport data.holdshort.config as c\n\npriority := c.clases.x.priority\n")},
		{"a misspelt part of config from above", oneRego("package holdshort.policy.classify\n\nimport data.holdshort as h\n\npriority := h.config.clases.x.priority\n")},
		{"a misspelt field of an imported part of config", oneRego("package holdshort.policy.classify\n\nimport data.holdshort.config.classes\n\npriority := classes.urgent.prio\n")},
		{"a misspelt field of an imported part of config under another name", oneRego("package holdshort.policy.classify\n\nimport data.holdshort.config.classes as c\n\npriority := c.urgent.prio\n")},
		{"a misspelt part of config in an annotated document", oneRego("package holdshort.policy.classify\n\n# METADATA\n# title: A priority\n# scope: document\n\npriority := data.holdshort.config.clases.x.priority if input.workload.user == \"a\"\n\nelse := 1\n")},
		{"a misspelt field of the workload", oneRego(classify + "queue := input.workload.lables.team\n")},
		{"a misspelt field of a class", oneRego(classify + "priority := data.holdshort.config.classes.urgent.prio\n")},
		{"an unknown field of the request", oneRego(policy + "deny contains {\"code\": \"a\", \"message\": input.request.userInfo.username}\n")},
		{"a longest run that is a text", oneRego(classify + "maxRuntimeSeconds := \"1h\"\n")},
		{"a misspelt package", oneRego("package holdshort.polciy\n\nimport data.holdshort.lib\n\nhold contains lib.reason(\"a\", why)\n\nwhy := \"b\"\n")},
		{"a misspelt package of an entrypoint", oneRego("package holdshort.policy.clasify\n\npriority := 1\n")},
		{"a misspelt hold", oneRego(policy + "hodl contains {\"code\": \"a\", \"message\": \"b\"}\n")},
		{"a misspelt group", oneRego(policy + "clasify.priority := 1\n")},
		{"a misspelt priority", oneRego(classify + "prioritty := 1\n")},
		{"a misspelt priority, dotted", oneRego(policy + "classify.prioritty := 1\n")},
		{"a field that classify does not have", oneRego(classify + "weight := 1\n")},
		{"a misspelt field of the catalog", oneRego("package holdshort.policy.catalog\n\nqeues := {}\n")},
		{"a reason code of holdshort's own", oneRego("package holdshort.policy\n\nimport data.holdshort.lib\n\nhold contains lib.reason(\"WaitingForQuota\", \"x\") if input.workload.name == \"a\"\n")},
		{"a reason code of holdshort's own in an object", oneRego(policy + "deny contains {\n\t\"code\": \"NeverFits\",\n\t\"message\": \"x\",\n} if {\n\tinput.workload.name == \"a\"\n}\n")},
		{"a reason code of holdshort's own from a helper", oneRego("package holdshort.policy\n\nimport data.holdshort.lib as l\n\nwarn contains no(\"a\") if input.workload.name == \"a\"\n\nno(text) := l.reason_until(\n\t\"QueueHeld\", text, 4\n)\n")},
		{"labels that mutate makes a list of", oneRego(mutate + "labels := [\"a\"]\n")},
		{"a label that mutate makes a number", oneRego(mutate + "labels := {\"team.example/gpus\": input.workload.arrival_ns}\n")},
		{"a mutated label that is a number, by itself", oneRego(mutate + "labels[\"team.example/gpus\"] := 4\n")},
		{"tolerations that are a set", oneRego(mutate + "tolerations contains {\"operator\": \"Exists\"}\n")},
		{"a time to live that is a string", oneRego(mutate + "ttlSecondsAfterFinished := \"600\"\n")},
		{"a misspelt field of mutate", oneRego(mutate + "nodeSelektor := {\"a\": \"b\"}\n")},
		{"a field that mutate does not have", oneRego(mutate + "suspend := false\n")},
		{"a mutate that reads the time", oneRego(mutate + "activeDeadlineSeconds := 60 if input.now_ns > 5\n")},
		{"a mutate that reads the request", oneRego(mutate + "annotations := {\"a\": input.request.user}\n")},
		{"a mutate that reads the verdict", oneRego(mutate + "annotations := {\"a\": input.verdict.queue}\n")},
		{"catalog rules that disagree", oneRego("package holdshort.policy.catalog\n\nunreserved := \"charge\" if 1 < count(data.holdshort.config)\n\nunreserved := \"suspend\" if 2 < count(data.holdshort.config)\n")},
		{"catalog rules that are undefined", oneRego("package holdshort.policy.catalog\n\nqueues := data.holdshort.config.queues if count(data.holdshort.config) > 100\n")},
		{"a computed catalog with a wrong type", oneRego("package holdshort.policy.catalog\n\nqueues[name] := object.union(queue, {\"quota\": \"4\"}) if some name, queue in data.holdshort.config.queues\n")},
		{"a computed catalog with a missing flavor", oneRego("package holdshort.policy.catalog\n\nqueues := {\"a\": {\"flavors\": [\"x\"], \"quota\": {}}}\n")},
		{"a built-in error in the catalog", oneRego("package holdshort.policy.catalog\n\nunreserved := \"charge\" if to_number(sprintf(\"%s\", [\"x\"])) > 1\n")},
		{"a rule that refers to itself", oneRego(classify + "priority := x\n\nx := y\n\ny := x\n")},
	}
}

func TestBadBundlesAreRefusedWithFileAndRow(t *testing.T) {
	var all strings.Builder
	for _, c := range slices.Concat(badData(), badSharing(), badRego(), badComparisons(), badCustom()) {
		t.Run(c.name, func(t *testing.T) {
			bad := refusal(t, Bundle{Files: c.files}, Options{})
			for _, p := range bad.Problems {
				if p.Code != CodeEmpty && (p.File == "" || p.Row == 0) {
					t.Errorf("no file and row: %+v", p)
				}
			}
			fmt.Fprintf(&all, "== %s\n%v\n\n", c.name, bad)
		})
	}
	golden.Compare(t, *update, "bad_bundles.golden", all.String())
}

// refusal compiles what must not compile.
func refusal(t *testing.T, b Bundle, o Options) *BundleError {
	t.Helper()
	_, err := Compile(context.Background(), b, o)
	var bad *BundleError
	if !errors.As(err, &bad) {
		t.Fatalf("compiled, or failed otherwise: %v", err)
	}
	return bad
}

func TestSlowCatalogIsCutOffAtItsDeadline(t *testing.T) {
	slow := withRego("package holdshort.policy.catalog\n\nunreserved := \"charge\" if count(numbers.range(1, 200000000)) > 0\n")
	begin := time.Now()
	bad := refusal(t, slow, Options{CatalogDeadline: 50 * time.Millisecond})
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if got := bad.Error(); !strings.Contains(got, "catalog: took longer than 50ms and was stopped") {
		t.Errorf("error %q does not say that it took too long", got)
	}
}

func TestBundleAboveTheLimitIsRefusedAndOneCloseToItWarns(t *testing.T) {
	filler := func(kib int) string { return strings.Repeat("# "+strings.Repeat("x", 1021)+"\n", kib) }
	data := string(starter().Files["data.yaml"])
	_, err := FromConfigMaps(map[string]map[string]string{
		"one": {"data.yaml": data, "a.rego": filler(500)}, "two": {"b.rego": filler(500)}})
	var bad *BundleError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "limit is 900 KiB. Try: ") {
		t.Errorf("two ConfigMaps of 500 KiB each: %v; want a refusal that names the limit and what to do", err)
	}
	large, err := FromConfigMaps(map[string]map[string]string{"one": {"data.yaml": data + filler(750)}})
	if err != nil {
		t.Fatal(err)
	}
	warnings := mustCompile(t, large).Warnings()
	if len(warnings) != 1 || warnings[0].Code != CodeSize {
		t.Errorf("warnings of a bundle of 750 KiB: %v; want one about its size", warnings)
	}
}
