package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
)

// tarGzip packs headers with their contents.
func tarGzip(t testing.TB, entries ...tarEntry) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: 0o644, Size: int64(len(e.text))}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type tarEntry struct {
	name string
	text string
	kind byte // 0: a file
	link string
}

// archiveOf packs files in order of their names.
func archiveOf(t testing.TB, all map[string][]byte) []byte {
	t.Helper()
	var entries []tarEntry
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, tarEntry{name: name, text: string(all[name])})
	}
	return tarGzip(t, entries...)
}

const goodManifest = `{"revision": "r7", "roots": ["holdshort"], "rego_version": 1, "metadata": {"holdshort": {"contract": 1}, "team": "x"}}`

func goodFiles() map[string][]byte {
	return files(".manifest", goodManifest, "data.yaml", string(policies.Starter()),
		"holdshort/policy.rego", "package holdshort.policy\n\nhold contains {\"code\": \"a.example/B\", \"message\": \"m\"}\n", "README.md", "\xff\x00")
}

func TestAnArchiveIsTheSameBundleHoweverItWasPacked(t *testing.T) {
	good := goodFiles()
	for _, c := range []struct{ name, prefix string }{
		{"plain names", ""}, {"names as tar gives them for a dot", "./"}, {"names as OPA writes them", "/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries := []tarEntry{{name: "./", kind: tar.TypeDir}}
			for name, text := range good {
				entries = append(entries, tarEntry{name: c.prefix + name, text: string(text)})
			}
			got, err := ReadArchive("here", tarGzip(t, entries...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Bundle{Source: "here", Files: good}, got); diff != "" {
				t.Errorf("bundle (-want +got):\n%s", diff)
			}
			if got.Revision() != "r7" {
				t.Errorf("revision %q", got.Revision())
			}
		})
	}
}

func TestARuleInAFolderNamedLikeOursIsARuleOfTheBundle(t *testing.T) {
	revision := mustCompile(t, Bundle{Files: goodFiles()})
	if held, err := revision.Hold(context.Background(), job()); err != nil || len(held) != 1 {
		t.Errorf("hold says %v, %v; want the rule's reason", held, err)
	}
	if !revision.HoldApplies(nil) {
		t.Error("the rule is taken for an embedded one, and never asked")
	}
}

func TestAPackedArchiveComesBackAsItWas(t *testing.T) {
	want := Bundle{Source: "here", Files: goodFiles()}
	packed, err := want.Pack()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bundle (-want +got):\n%s", diff)
	}
}

// noise cannot be packed any smaller.
func noise(size int) string {
	random := rand.NewChaCha8([32]byte{})
	text := make([]byte, size)
	_, _ = random.Read(text) // it never fails
	return string(text)
}

func TestAnArchiveThatIsNoneSaysWhy(t *testing.T) {
	good := archiveOf(t, goodFiles())
	var many []tarEntry
	for i := range archiveFilesMax + 1 {
		many = append(many, tarEntry{name: strings.Repeat("x", 1+i%200) + "/" + strings.Repeat("y", 1+i/200)})
	}
	badSum := bytes.Clone(good)
	badSum[len(badSum)-5] ^= 1
	cases := []struct {
		name    string
		archive []byte
		says    string
	}{
		{"nothing at all", nil, "not packed by gzip"},
		{"a page of HTML", []byte("<html>please log in</html>"), "Try: tar -czf"},
		{"half of it", good[:len(good)/2], "damaged"},
		{"all but the last byte", good[:len(good)-1], "damaged"},
		{"a wrong checksum", badSum, "damaged"},
		{"more than may come", []byte(noise(ArchiveBytesMax + 1)), "4096 KiB packed"},
		{"a bomb in one file", tarGzip(t, tarEntry{name: "data.yaml", text: strings.Repeat(" ", unpackedBytesMax)}), "unpacks to more than 8192 KiB"},
		{"a bomb behind the end of the archive", append(bytes.Clone(good), bomb(t)...), "unpacks to more than 8192 KiB"},
		{"a crowd of files", tarGzip(t, many...), "more than 2000 files"},
		{"another archive behind its end", concatenated(t, goodFiles(), files("deny.rego", "package x")), "something follows after the last of its files"},
		{"a few bytes behind its end", append(bytes.Clone(good), gzipped(t, []byte("\x00\x00x"))...), "something follows"},
		{"bytes that are not packed behind its end", append(bytes.Clone(good), "x"...), "damaged"},
		{"a long name of no file", tarGzip(t, tarEntry{name: strings.Repeat("x", 2000), kind: tar.TypeFifo}), "…"},
		{"a way out of the folder", tarGzip(t, tarEntry{name: "../data.yaml"}), `"../data.yaml"`},
		{"a way out behind a folder", tarGzip(t, tarEntry{name: "a/../../data.yaml"}), "plain names"},
		{"a name that is cleaned to another", tarGzip(t, tarEntry{name: "a//data.yaml"}), "plain names"},
		{"a backslash", tarGzip(t, tarEntry{name: `a\data.yaml`}), "plain names"},
		{"a line feed", tarGzip(t, tarEntry{name: "a\n.rego"}), "plain names"},
		{"a symbolic link", tarGzip(t, tarEntry{name: "data.yaml", kind: tar.TypeSymlink, link: "/etc/passwd"}), "--dereference"},
		{"a hard link", tarGzip(t, tarEntry{name: "data.yaml", kind: tar.TypeLink, link: "x"}), "--dereference"},
		{"a device", tarGzip(t, tarEntry{name: "data.yaml", kind: tar.TypeChar}), "neither a file nor a folder"},
		{"a file twice", tarGzip(t, tarEntry{name: "a.rego", text: "1"}, tarEntry{name: "/a.rego", text: "2"}), "a.rego is in it twice"},
		{"no manifest", archiveOf(t, files("data.yaml", "")), "no .manifest at its top"},
		{"everything in a folder", archiveOf(t, files("bundle/.manifest", goodManifest)), "no .manifest at its top"},
		{"data in a folder", archiveOf(t, files(".manifest", goodManifest, "teams/data.yaml", "")), "teams/data.yaml: data belongs at the top"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadArchive("here", c.archive)
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "Try:") {
				t.Errorf("got %v, want an error with %q and advice", err, c.says)
			}
		})
	}
}

// bomb is few bytes that unpack to many.
func bomb(t *testing.T) []byte { return gzipped(t, make([]byte, unpackedBytesMax)) }

func gzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if _, err := zip.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// concatenated is two archives as one, of which each reader sees what it stops at.
func concatenated(t *testing.T, first, second map[string][]byte) []byte {
	t.Helper()
	return append(archiveOf(t, first), archiveOf(t, second)...)
}

func TestWhatTheManifestSaysCounts(t *testing.T) {
	manifest := func(old, replacement string) string { return strings.Replace(goodManifest, old, replacement, 1) }
	cases := []struct {
		name, manifest, says string
	}{
		{"it is no JSON", "{", ".manifest: not a manifest"},
		{"roots twice", manifest(`"rego_version"`, `"roots": ["holdshort"], "rego_version"`), `the key "roots" is in it twice`},
		{"roots twice, once in capitals", manifest(`"rego_version"`, `"ROOTS": ["holdshort"], "rego_version"`), `the key "ROOTS" is in it twice`},
		{"roots twice, once with a letter that folds to one", manifest(`"rego_version"`, `"root\u017f": ["holdshort"], "rego_version"`), "is in it twice"},
		{"a contract twice", manifest(`"contract": 1`, `"contract": 1, "contract": 1`), `the key "contract" is in it twice`},
		{"a key twice in what is not ours", manifest(`"team": "x"`, `"teams": [{"a": 1, "a": 2}]`), `the key "a" is in it twice`},
		{"no roots", manifest(`"roots": ["holdshort"], `, ""), "without roots"},
		{"no root in roots", manifest(`"holdshort"], `, `], `), "without roots"},
		{"all roots", manifest(`["holdshort"]`, `[""]`), `the root "" is outside of holdshort`},
		{"a foreign root", manifest(`["holdshort"]`, `["holdshort", "system"]`), `the root "system"`},
		{"a root that only begins alike", manifest(`["holdshort"]`, `["holdshorter"]`), `the root "holdshorter"`},
		{"a root that its data leaves", manifest(`["holdshort"]`, `["holdshort/policy"]`), "data.yaml:5: holdshort.config is outside of the roots in .manifest"},
		{"a root that its rules leave", manifest(`["holdshort"]`, `["/holdshort/config/"]`), "holdshort/policy.rego:3: holdshort.policy.hold is outside"},
		{"an old Rego", manifest(`"rego_version": 1`, `"rego_version": 0`), "rego_version is 0"},
		{"a file of old Rego", manifest(`"rego_version": 1`, `"file_rego_versions": {"x.rego": 0}`), "0 for x.rego"},
		{"no contract", manifest(`"contract": 1`, ""), "does not say which contract"},
		{"a later contract", manifest(`"contract": 1`, `"contract": 2`), "written for contract 2"},
		{"compiled rules", manifest(`"roots"`, `"wasm": [{"module": "/policy.wasm"}], "roots"`), "wasm"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			bundle := Bundle{Files: goodFiles()}
			bundle.Files[".manifest"] = []byte(c.manifest)
			_, err := Compile(context.Background(), bundle, Options{})
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "Try:") {
				t.Errorf("got %v, want an error with %q and advice", err, c.says)
			}
		})
	}
}

func TestADeltaIsRefused(t *testing.T) {
	bundle, err := ReadArchive("here", archiveOf(t, files("patch.json", `{"data": [{"op": "upsert", "path": "/holdshort", "value": {}}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compile(context.Background(), bundle, Options{}); err == nil || !strings.Contains(err.Error(), "delta") {
		t.Errorf("got %v, want it called a delta", err)
	}
}
