package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFlagsGoOverTheFileAndTheFileOverTheDefaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "holdshort.yaml")
	content := "name: from-file\nwebhookPort: 1\nmanagedNamespaces: {matchLabels: {team: a}}\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Parse([]string{"--config", file, "--webhook-port=2", "--policy-config-maps", "a, b"}, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	want := Defaults()
	want.Name, want.WebhookPort, want.PolicyConfigMaps = "from-file", 2, []string{"a", "b"}
	want.ManagedNamespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	want.LedgerUser = "system:serviceaccount:holdshort-system:from-file"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestBadConfigurationIsRefusedByName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "holdshort.yaml")
	if err := os.WriteFile(file, []byte("webhokPort: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		args []string
		says []string
	}{
		{"a flag that does not exist", []string{"--webhok-port=1"}, []string{"webhok-port"}},
		{"a key that does not exist", []string{"--config", file}, []string{"webhokPort", "Try:"}},
		{"a file that does not exist", []string{"--config=/nowhere.yaml"}, []string{"/nowhere.yaml"}},
		{"a flag without its file", []string{"--config"}, []string{"--config", "Try:"}},
		{"an argument", []string{"serve"}, []string{"serve", "Try:"}},
		{"a port that is none", []string{"--webhook-port=0"}, []string{"webhook-port", `"0"`, "Try:"}},
		{"a selector that is none", []string{"--managed-namespaces=team in"}, []string{"managed-namespaces", "team in", "Try:"}},
		{"a namespace that is none", []string{"--namespace=A_B"}, []string{"namespace", "A_B", "Try:"}},
		{"two sources of policy", []string{"--policy-dir=/x", "--policy-config-maps=y"}, []string{"policy-dir", "Try:"}},
		{"a mask that is no pointer", []string{"--decisions-masks=labels"}, []string{"decisions-masks", "labels", "Try:"}},
		{"fewer records than none", []string{"--decisions-keep=-1"}, []string{"decisions-keep", "-1", "Try:"}},
		{"an unknown log format", []string{"--log-format=xml"}, []string{"log-format", "xml", "Try:"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.args, Defaults())
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
		})
	}
}

func TestASelectorIsTakenAsKubectlTakesItOrAsJSON(t *testing.T) {
	want := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	for _, text := range []string{"team=a", `{"matchLabels":{"team":"a"}}`} {
		got, err := Parse([]string{"--managed-namespaces", text}, Defaults())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.ManagedNamespaces, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
