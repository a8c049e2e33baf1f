//go:build plane

package chart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdshort/holdshort/cmd/holdshort/app"
)

// managerArgs are what the chart gives the manager, as the manager understands it.
func managerArgs(t *testing.T, deployment *unstructured.Unstructured) app.Config {
	t.Helper()
	container := field(t, deployment, "spec", "template", "spec", "containers").([]any)[0].(map[string]any)
	var args []string
	for _, arg := range container["args"].([]any) {
		args = append(args, arg.(string))
	}
	config, err := app.Parse(args, app.Defaults())
	if err != nil {
		t.Fatalf("the manager does not take what the chart gives it: %v", err)
	}
	return config
}

func valuesFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const fromServer = `policy:
  bundle:
    url: https://policy.example/b.tar.gz?x=1
    pollSeconds: 30
    credentialsSecret: bundle-reader
    ca: |
      -----BEGIN CERTIFICATE-----
  verification:
    required: true
    scope: prod
    keys:
      release-2026: |
        -----BEGIN PUBLIC KEY-----
`

func TestThePolicyOfAServer(t *testing.T) {
	objects := render(t, "holdshort", "ns", "-f", valuesFile(t, fromServer))
	want := app.PolicySource{
		PolicyURL: "https://policy.example/b.tar.gz?x=1", PolicyPoll: metav1.Duration{Duration: 30 * time.Second},
		PolicyCredentialsDir: "/etc/holdshort/policy-credentials", PolicyCAFile: "/etc/holdshort/policy-trust/ca.crt",
		PolicyKeysDir: "/etc/holdshort/policy-trust", PolicySignatureRequired: true, PolicySignatureScope: "prod",
	}
	deployment := objects["Deployment/holdshort"]
	if diff := cmp.Diff(want, managerArgs(t, deployment).PolicySource); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}
	if objects["ConfigMap/holdshort-policy"] != nil {
		t.Error("there is a ConfigMap with a policy that nobody reads")
	}
	trusted := field(t, objects["ConfigMap/holdshort-policy-trust"], "data").(map[string]any)
	if _, there := trusted["release-2026.pem"]; !there || trusted["ca.crt"] == nil || len(trusted) != 2 {
		t.Errorf("what is trusted: %v", trusted)
	}
	mounted := field(t, deployment, "spec", "template", "spec", "volumes").([]any)
	wantVolumes := []any{
		map[string]any{"name": "policy-trust", "configMap": map[string]any{"name": "holdshort-policy-trust"}},
		map[string]any{"name": "policy-credentials", "secret": map[string]any{"secretName": "bundle-reader", "optional": true}},
	}
	if diff := cmp.Diff(wantVolumes, mounted); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
}

func TestThePolicyOfSeveralTeams(t *testing.T) {
	objects := render(t, "holdshort", "ns", "--set", "policy.configMaps.labelled=true", "--set-json", `policy.configMaps.roots={"team-a":["holdshort.config.queues[\"team-a\"]"]}`)
	want := app.PolicySource{PolicyLabelled: true, PolicyRoots: map[string][]string{"team-a": {`holdshort.config.queues["team-a"]`}}}
	if diff := cmp.Diff(want, managerArgs(t, objects["Deployment/holdshort"]).PolicySource); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}
}

func TestSourcesThatMakeNoSense(t *testing.T) {
	key := "policy.verification.keys.a=-----BEGIN PUBLIC KEY-----"
	for _, c := range []struct {
		name string
		set  []string
		want string
	}{
		{"a server without TLS", []string{"policy.bundle.url=http://policy.example/b"}, "url"},
		{"credentials in the URL", []string{"policy.bundle.url=https://a:b@policy.example/b"}, "url"},
		{"a server and a policy", []string{"policy.bundle.url=https://policy.example/b", "policy.files.a\\.rego=x"}, "Try: one of the two"},
		{"signed ConfigMaps", []string{key}, "ConfigMaps cannot be signed"},
		{"a signature that nothing checks", []string{"policy.bundle.url=https://policy.example/b", "policy.verification.required=true"}, "Try: policy.verification.keys"},
		{"a private key", []string{"policy.bundle.url=https://policy.example/b", "policy.verification.keys.a=-----BEGIN PRIVATE KEY-----"}, "keys"},
		{"roots outside of the policy", []string{"policy.configMaps.roots.a={queues}"}, "roots"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"template", "holdshort", chartDir}
			for _, set := range c.set {
				args = append(args, "--set", set)
			}
			_, err := helm(t, args...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that names %s", err, c.want)
			}
		})
	}
}
