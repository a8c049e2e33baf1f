package app

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdshort/holdshort/ledger/rollout"
)

func TestASourceIsSaidByFlagsOrByAFile(t *testing.T) {
	config := filepath.Join(t.TempDir(), "holdshort.yaml")
	text := `policyURL: https://policy.example/b.tar.gz
policyPoll: 30s
policyCredentialsDir: /creds
policyCAFile: /ca.crt
policyKeysDir: /keys
policySignatureRequired: true
policySignatureScope: prod
`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := PolicySource{
		PolicyURL: "https://policy.example/b.tar.gz", PolicyPoll: metav1.Duration{Duration: 30 * time.Second}, PolicyCredentialsDir: "/creds",
		PolicyCAFile: "/ca.crt", PolicyKeysDir: "/keys", PolicySignatureRequired: true, PolicySignatureScope: "prod",
	}
	flags := []string{"--policy-url=https://policy.example/b.tar.gz", "--policy-poll=30s", "--policy-credentials-dir=/creds", "--policy-ca-file=/ca.crt",
		"--policy-keys-dir=/keys", "--policy-signature-required", "--policy-signature-scope=prod"}
	for name, args := range map[string][]string{"file": {"--config", config}, "flags": flags} {
		got, err := Parse(args, Defaults())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got.PolicySource); diff != "" || len(got.PolicyConfigMaps) > 0 {
			t.Errorf("%s: ConfigMaps %v, source (-want +got):\n%s", name, got.PolicyConfigMaps, diff)
		}
		source, err := policySource(got, nil)
		if err != nil {
			t.Fatal(err)
		}
		server, ok := source.(*rollout.HTTP)
		if !ok || server.Poll != 30*time.Second || server.Server.Credentials != "/creds" || server.Server.CA != "/ca.crt" {
			t.Errorf("%s: the source is %+v", name, source)
		}
	}
}

func TestLabelledConfigMapsWriteWhatIsGranted(t *testing.T) {
	const roots = `{"team-a": ["holdshort.config.queues.team-a"], "*": []}`
	c, err := Parse([]string{"--policy-labelled", "--policy-roots", roots}, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	source, err := c.policyConfigMaps(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !source.Selector.Matches(labels.Set{"holdshort.dev/policy": "true"}) || source.Selector.Matches(labels.Set{}) {
		t.Errorf("the selector is %v", source.Selector)
	}
	got := map[string]string{}
	for name, granted := range source.Granted {
		got[name] = granted.String()
	}
	if diff := cmp.Diff(map[string]string{"team-a": "holdshort.config.queues.team-a", "*": ""}, got); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"holdshort-policy"}, source.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestSettingsOfTheSourceThatMakeNoSense(t *testing.T) {
	const url = "--policy-url=https://policy.example/b"
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"a URL without TLS", []string{"--policy-url=http://policy.example/b"}, []string{"policy-url", "https"}},
		{"credentials in the URL", []string{"--policy-url=https://a:SECRET@policy.example/b"}, []string{"policy-url", "username"}},
		{"two sources", []string{url, "--policy-dir=/x"}, []string{"policy-url", "one source"}},
		{"a pause too short", []string{url, "--policy-poll=1ms"}, []string{"policy-poll", "1ms"}},
		{"credentials for nobody", []string{"--policy-credentials-dir=/x"}, []string{"policy-credentials-dir", "--policy-url"}},
		{"an authority for nobody", []string{"--policy-ca-file=/x"}, []string{"policy-ca-file", "--policy-url"}},
		{"signed ConfigMaps", []string{"--policy-keys-dir=/x"}, []string{"policy-keys-dir", "ConfigMaps cannot be signed"}},
		{"signatures without keys", []string{url, "--policy-signature-required"}, []string{"policy-signature-required", "--policy-keys-dir"}},
		{"labels on a folder", []string{"--policy-dir=/x", "--policy-labelled"}, []string{"policy-labelled", "not in ConfigMaps"}},
		{"roots on a server", []string{url, `--policy-roots={"a": []}`}, []string{"policy-roots", "not in ConfigMaps"}},
		{"roots that are no paths", []string{`--policy-roots={"a": ["queues"]}`}, []string{"policy-roots", "ConfigMap a", "outside of holdshort"}},
		{"roots that are no lists", []string{`--policy-roots={"a": "x"}`}, []string{"policy-roots", "JSON object of lists"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.args, Defaults())
			if err == nil || strings.Contains(err.Error(), "SECRET") {
				t.Fatalf("got %v, want an error without secrets", err)
			}
			for _, part := range append(c.says, "Try:") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
		})
	}
}

func TestKeysAreReadFromAFolder(t *testing.T) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source := PolicySource{PolicyKeysDir: dir, PolicySignatureRequired: true}
	if _, err := source.verification(); err == nil || !strings.Contains(err.Error(), "no KEYID.pem") {
		t.Errorf("an empty folder: %v", err)
	}
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("release.pem", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	write("README", []byte("not a key"))
	write("..data.pem", []byte("what a mount keeps for itself"))
	if _, err := source.verification(); err != nil {
		t.Errorf("a folder with a key: %v", err)
	}
	write("other.pem", []byte("x"))
	if _, err := source.verification(); err == nil || !strings.Contains(err.Error(), "key other") {
		t.Errorf("a key that is none: %v", err)
	}
	source.PolicyKeysDir = filepath.Join(dir, "gone")
	if _, err := source.verification(); err == nil || !strings.Contains(err.Error(), "policy-keys-dir") {
		t.Errorf("a folder that is not there: %v", err)
	}
}
