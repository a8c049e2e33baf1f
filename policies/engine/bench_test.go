package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// twentyModules is a bundle of 20 modules of about 30 lines, each with a deny
// and a warn rule and helpers, 50 queues of 6 flavors and 3 resources.
func twentyModules() Bundle {
	var data strings.Builder
	data.WriteString("holdshort:\n  config:\n    classes: {urgent: {priority: 1000}}\n    flavors:\n")
	for f := range 6 {
		fmt.Fprintf(&data, "      f%d: {nodeLabels: {kind: f%d}}\n", f, f)
	}
	data.WriteString("    queues:\n")
	for q := range 50 {
		fmt.Fprintf(&data, "      q%d:\n        namespaces: {all: true}\n        flavors: [f0, f1, f2, f3, f4, f5]\n        quota:\n", q)
		for f := range 6 {
			fmt.Fprintf(&data, "          f%d: {cpu: 100, memory: 1Ti, nvidia.com/gpu: 8}\n", f)
		}
	}
	files := map[string][]byte{"data.yaml": []byte(data.String())}
	for m := range 20 {
		var text strings.Builder
		fmt.Fprintf(&text, "package holdshort.policy\n\nimport data.holdshort.lib\n\n")
		fmt.Fprintf(&text, "deny contains lib.reason(\"bench.example/D%d\", \"no\") if {\n\tinput.workload.namespace == \"ns%d\"\n\tlib.total(\"nvidia.com/gpu\") > %d\n}\n\n", m, m, m)
		fmt.Fprintf(&text, "warn contains lib.reason(\"bench.example/W%d\", \"hm\") if {\n\tinput.workload.namespace == \"ns%d\"\n\thelper%d_0 > 3\n}\n\n", m, m, m)
		for h := range 6 {
			fmt.Fprintf(&text, "helper%d_%d := n if {\n\tn := sum([p.count | some p in input.workload.podSets])\n}\n\n", m, h)
		}
		files[fmt.Sprintf("m%02d.rego", m)] = []byte(text.String())
	}
	return Bundle{Source: "bench", Files: files}
}

func BenchmarkClassify(b *testing.B) {
	r := mustCompile(b, twentyModules())
	in := job()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		in.Workload.Namespace = fmt.Sprint("ns-", i) // so that no answer is shared
		if _, err := r.Classify(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDeny(b *testing.B) {
	r := mustCompile(b, twentyModules())
	in := job()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		in.Workload.Namespace = fmt.Sprint("ns-", i) // so that no answer is shared
		if _, err := r.Deny(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWarn(b *testing.B) {
	r := mustCompile(b, twentyModules())
	in := job()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		in.Workload.Namespace = fmt.Sprint("ns-", i) // so that no answer is shared
		if _, err := r.Warn(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClassifyOfOneThatIsLikeAnother(b *testing.B) {
	r := mustCompile(b, twentyModules())
	in := job()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Classify(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCatalog is 50 queues × 6 flavors × 3 resources, evaluated anew.
func BenchmarkCatalog(b *testing.B) {
	bundle := twentyModules()
	bundle.Files["moving.rego"] = []byte("package holdshort.policy\n\ncatalog.queues := data.holdshort.config.queues if input.now_ns > 0\n")
	r := mustCompile(b, bundle)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := r.EvaluateCatalog(context.Background(), time.Unix(int64(i)*60+60, 0), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile20Modules(b *testing.B) {
	bundle := twentyModules()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(context.Background(), bundle, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
