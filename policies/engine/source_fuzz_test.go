package engine

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzArchive feeds the reader of archives. Whatever comes in, there is an error
// or a bundle within the limits, with names that stay inside it, that survives
// being kept.
func FuzzArchive(f *testing.F) {
	f.Add(archiveOf(f, goodFiles()))
	f.Add(archiveOf(f, files("patch.json", "{}")))
	f.Add(tarGzip(f, tarEntry{name: "../../etc/passwd", text: "x"}))
	f.Add(tarGzip(f, tarEntry{name: ".manifest", kind: '2', link: "/dev/zero"}))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		bundle, err := ReadArchive("fuzz", archive)
		if err != nil {
			return
		}
		if size := bundle.Size(); size > unpackedBytesMax {
			t.Fatalf("%d bytes came out", size)
		}
		for name := range bundle.Files {
			if clean, err := entryName(name); err != nil || clean != name {
				t.Fatalf("a file is called %q", name)
			}
		}
		packed, err := bundle.Pack()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Unpack(packed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(bundle, back); diff != "" {
			t.Fatalf("kept and read again (-want +got):\n%s", diff)
		}
	})
}

// FuzzConfigMaps feeds the loader of data and rules. Whatever a ConfigMap says,
// one that may write nothing has no effect on the policy of the other.
func FuzzConfigMaps(f *testing.F) {
	f.Add("data.yaml", "holdshort: {config: {queues: {base: {flavors: [x]}}}}")
	f.Add("data.yaml", "holdshort: {config: {<<: &a {queues: null}, custom: *a}}")
	f.Add("x.data.yaml", "--- {}\n--- {}\n")
	f.Add("data.json", `{"holdshort": {"config": {"queues": []}}}`)
	f.Add("x.rego", "package holdshort\n\npolicy.deny contains \"x\"\n")
	f.Add("x.rego", "package holdshort.policy\n\ndefault classify.queue := \"x\"\n")
	f.Add("x.rego", "package holdshort.lib\n\nimport rego.v1\n")
	f.Add("a: &a [*a]", "data.yaml")
	base := map[string]string{"data.yaml": baseData}
	want, err := FromConfigMaps(map[string]map[string]string{"base": base})
	if err != nil {
		f.Fatal(err)
	}
	alone := mustCompile(f, want)
	f.Fuzz(func(t *testing.T, key, text string) {
		bundle, err := FromGrantedConfigMaps(map[string]map[string]string{"base": base, "other": {key: text}}, map[string]Roots{"other": nil})
		if err != nil {
			return
		}
		revision, err := Compile(context.Background(), bundle, Options{})
		if err != nil {
			return
		}
		if diff := cmp.Diff(alone.Catalog(), revision.Catalog()); diff != "" {
			t.Fatalf("%s changed the catalog (-alone +with):\n%s", key, diff)
		}
		if diff := cmp.Diff(alone.HasDeny(), revision.HasDeny()); diff != "" {
			t.Fatalf("%s brought rules (-alone +with):\n%s", key, diff)
		}
	})
}
