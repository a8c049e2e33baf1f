package engine

import (
	"strings"
	"testing"
)

const digestData = "holdshort:\n  config:\n    flavors: {gpu: {}}\n    custom: {most: 4}\n"

func filesOf(pairs ...string) Bundle {
	b := Bundle{Files: map[string][]byte{}}
	for i := 0; i < len(pairs); i += 2 {
		b.Files[pairs[i]] = []byte(pairs[i+1])
	}
	return b
}

func TestTheDigestIsThatOfTheContentWhereverItLies(t *testing.T) {
	const rule, test = "package holdshort.policy\n\nclassify.priority := 1\n", "package holdshort.policy_test\n\ntest_a if 1 == 1\n"
	folder := filesOf("data.yaml", digestData, "a.rego", rule, "a_test.rego", test)
	for name, same := range map[string]Bundle{
		"in a ConfigMap": filesOf("holdshort-policy/data.yaml", digestData, "holdshort-policy/a.rego", rule, "holdshort-policy/a_test.rego", test),
		"in two ConfigMaps, with the data in two files": filesOf("base/data.yaml", "holdshort: {config: {custom: {most: 4}}}\n",
			"other/b.data.yaml", "holdshort: {config: {flavors: {gpu: {}}}}\n", "other/a.rego", rule, "base/a_test.rego", test),
		"in an archive, with a manifest and a signature": filesOf("data.yaml", digestData, "policy/a.rego", rule, "policy/a_test.rego", test,
			manifestName, manifestExample, signaturesName, "{}", "README.md", "# read"),
		"with a comment in the data, and another end of the last line": filesOf("data.yaml", "# ours\n"+digestData, "a.rego", strings.TrimSuffix(rule, "\n"), "a_test.rego", test),
	} {
		if same.Digest() != folder.Digest() {
			t.Errorf("%s it is %s, in a folder %s", name, same.Digest(), folder.Digest())
		}
		if same.Fingerprint() == folder.Fingerprint() {
			t.Errorf("%s the fingerprint is that of the folder", name)
		}
	}
	for name, other := range map[string]Bundle{
		"another number":          filesOf("data.yaml", strings.Replace(digestData, "4", "5", 1), "a.rego", rule, "a_test.rego", test),
		"a rule more":             filesOf("data.yaml", digestData, "a.rego", rule+"# more\n", "a_test.rego", test),
		"another name of a rule":  filesOf("data.yaml", digestData, "b.rego", rule, "a_test.rego", test),
		"a test that is a rule":   filesOf("data.yaml", digestData, "a.rego", rule, "a_tests.rego", test),
		"a rule that is a test":   filesOf("data.yaml", digestData, "tests/a.rego", rule, "a_test.rego", test),
		"no test":                 filesOf("data.yaml", digestData, "a.rego", rule),
		"data that can't be read": filesOf("data.yaml", digestData+"]", "a.rego", rule, "a_test.rego", test),
	} {
		if other.Digest() == folder.Digest() {
			t.Errorf("%s has the same digest", name)
		}
	}
}

func TestWhatSaysTheSameFromElsewhereIsRenewedWithoutTheGates(t *testing.T) {
	e := New(Options{})
	first, err := e.Activate(t.Context(), filesOf("data.yaml", string(starter().Files["data.yaml"])))
	if err != nil {
		t.Fatal(err)
	}
	moved := filesOf("here/data.yaml", string(starter().Files["data.yaml"]))
	moved.Source = "elsewhere"
	renewed, err := e.Renew(t.Context(), moved)
	if err != nil || renewed.Digest() != first.Digest() || e.Active().Source() != "elsewhere" {
		t.Errorf("renewed as %v, %v; from %s", renewed, err, e.Active().Source())
	}
	if _, err := e.Renew(t.Context(), filesOf("data.yaml", digestData)); err == nil {
		t.Error("another content was put into force")
	}
	e.options.Verification.required = true
	moved.Source = "unsigned"
	if _, err := e.Renew(t.Context(), moved); err == nil || e.Active().Source() != "elsewhere" {
		t.Errorf("unsigned: %v; from %s", err, e.Active().Source())
	}
}
