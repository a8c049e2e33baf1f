//go:build plane

package chart_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/holdshort/holdshort/cmd/holdshort/app"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/binaries"
	"github.com/holdshort/holdshort/webhook/policycheck"
)

const (
	chartDir = "../../charts/holdshort"
	v1       = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
)

var outside = []string{"--set", "manager.enabled=false", "--set", "webhook.url=https://127.0.0.1:9443"}

func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	set, err := binaries.Ensure(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), set.Helm, args...)
	home := t.TempDir()
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var out, problem bytes.Buffer
	command.Stdout, command.Stderr = &out, &problem
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s%s", err, problem.String(), out.String())
	}
	return out.String(), nil
}

// render returns the objects by kind/name.
func render(t *testing.T, release, namespace string, args ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	out, err := helm(t, append([]string{"template", release, chartDir, "-n", namespace}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(out), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if object.Object != nil {
			objects[object.GetKind()+"/"+object.GetName()] = object
		}
	}
}

// field reads a value of an object by its path.
func field(t *testing.T, object *unstructured.Unstructured, path ...string) any {
	t.Helper()
	if object == nil {
		t.Fatalf("there is no such object, to read %v from", path)
	}
	value, there, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	if err != nil || !there {
		t.Fatalf("%s/%s has no %v: %v", object.GetKind(), object.GetName(), path, err)
	}
	return value
}

func TestLintHasNothingToSay(t *testing.T) {
	for _, args := range [][]string{nil, outside} {
		if _, err := helm(t, append([]string{"lint", "--strict", chartDir}, args...)...); err != nil {
			t.Error(err)
		}
	}
}

func TestOddNamesMakeGoodObjects(t *testing.T) {
	for _, c := range []struct{ release, namespace string }{
		{"holdshort", "holdshort-system"},
		{"my.release", "ns"},
		{"1st", "ns"},
		{"holdshort-" + strings.Repeat("x", 43), "ns"},
		{"a." + strings.Repeat("b.", 20) + "c", strings.Repeat("n", 63)},
	} {
		t.Run(c.release, func(t *testing.T) {
			for name, object := range render(t, c.release, c.namespace, "--api-versions", v1, "--set", "policy.files.a\\.rego=x") {
				problems := validation.IsDNS1123Subdomain(object.GetName())
				if object.GetKind() == "Service" {
					problems = validation.IsDNS1035Label(object.GetName())
				}
				for key, value := range object.GetLabels() {
					problems = append(problems, validation.IsQualifiedName(key)...)
					problems = append(problems, validation.IsValidLabelValue(value)...)
				}
				if len(object.GetName()) > 63 || len(problems) > 0 {
					t.Errorf("%s: %v", name, problems)
				}
			}
		})
	}
}

func TestWhichMutatingPolicyIsInstalled(t *testing.T) {
	const group = "admissionregistration.k8s.io/"
	for _, c := range []struct {
		name      string
		args      []string
		version   string // empty: none
		onFailure string
	}{
		{"a server that has none", nil, "", "Fail"},
		{"an alpha server", []string{"--api-versions", group + "v1alpha1/MutatingAdmissionPolicy"}, group + "v1alpha1", "Ignore"},
		{"the newest of several", []string{"--api-versions", group + "v1alpha1/MutatingAdmissionPolicy", "--api-versions", group + "v1beta1/MutatingAdmissionPolicy"}, group + "v1beta1", "Ignore"},
		{"a server of today", []string{"--api-versions", v1, "--api-versions", group + "v1beta1/MutatingAdmissionPolicy"}, group + "v1", "Ignore"},
		{"switched off", []string{"--api-versions", v1, "--set", "admissionPolicies.mutating=false"}, "", "Fail"},
		{"switched on without asking", []string{"--set", "admissionPolicies.mutating=true"}, group + "v1", "Ignore"},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects := render(t, "holdshort", "ns", c.args...)
			for _, name := range []string{"MutatingAdmissionPolicy/holdshort-queue", "MutatingAdmissionPolicyBinding/holdshort-queue", "MutatingAdmissionPolicy/holdshort-leave", "MutatingAdmissionPolicyBinding/holdshort-leave", "MutatingAdmissionPolicy/holdshort-keep", "MutatingAdmissionPolicyBinding/holdshort-keep"} {
				got := ""
				if objects[name] != nil {
					got = objects[name].GetAPIVersion()
				}
				if got != c.version {
					t.Errorf("%s has version %q, want %q", name, got, c.version)
				}
			}
			hooks := field(t, objects["MutatingWebhookConfiguration/holdshort-jobs"], "webhooks").([]any)
			got := []any{hooks[0].(map[string]any)["failurePolicy"], hooks[1].(map[string]any)["failurePolicy"]}
			if diff := cmp.Diff([]any{c.onFailure, "Ignore"}, got); diff != "" {
				t.Errorf("failure policies of create and update (-want +got):\n%s", diff)
			}
			for _, hook := range hooks {
				if _, there := hook.(map[string]any)["clientConfig"].(map[string]any)["caBundle"]; there {
					t.Error("the chart sets caBundle: an upgrade would take out what the manager put in")
				}
			}
		})
	}
}

func TestValuesThatMakeNoSense(t *testing.T) {
	for _, c := range []struct{ name, set, want string }{
		{"an unknown value", "manger.enabled=false", "manger"},
		{"a manager outside that cannot be reached", "manager.enabled=false", "Try: webhook.url"},
		{"a URL without TLS", "webhook.url=http://x:1", "url"},
		{"a URL with a path", "webhook.url=https://x:1/path", "url"},
		{"an unknown mode of certificates", "certs.mode=magic", "mode"},
		{"nobody who makes the pods of Jobs", "admissionPolicies.jobControllers=null", "jobControllers"},
		{"two data.yaml of the policy", "policy.config.queues.a.quota=null,policy.files.data\\.yaml=x", "policy.config becomes data.yaml"},
		{"two data.yaml of the shadow", "policy.shadow.config.queues.a.quota=null,policy.shadow.files.data\\.yaml=x", "policy.shadow.config becomes data.yaml"},
		{"a policy file that is none", "policy.files.readme\\.txt=x", "readme.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := helm(t, "template", "holdshort", chartDir, "--set", c.set)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that names %s", err, c.want)
			}
		})
	}
}

func TestTheManagerHasTheLeastRights(t *testing.T) {
	objects := render(t, "holdshort", "ns")
	for name, object := range objects {
		if !strings.HasPrefix(name, "ClusterRole/") && !strings.HasPrefix(name, "Role/") {
			continue
		}
		for _, raw := range field(t, object, "rules").([]any) {
			rule := raw.(map[string]any)
			for _, part := range []string{"apiGroups", "resources", "verbs"} {
				if slices.Contains(rule[part].([]any), any("*")) {
					t.Errorf("%s: %s has a wildcard", name, part)
				}
			}
			secrets := slices.Contains(rule["resources"].([]any), any("secrets"))
			if secrets && strings.HasPrefix(name, "ClusterRole/") {
				t.Errorf("%s: secrets of all namespaces", name)
			}
			if secrets && rule["resourceNames"] == nil && !cmp.Equal(rule["verbs"], []any{"create"}) {
				t.Errorf("%s: %v on secrets of any name", name, rule["verbs"])
			}
			if slices.Contains(rule["verbs"].([]any), any("bypass")) && name != "ClusterRole/holdshort-bypass" {
				t.Errorf("%s: gives bypass away", name)
			}
		}
	}
}

func TestTheRightsGoToWhoeverWritesAsTheLedger(t *testing.T) {
	for _, c := range []struct {
		name, username string
		want           map[string]any
	}{
		{"by default the chart's account", "", map[string]any{"kind": "ServiceAccount", "name": "holdshort", "namespace": "ns"}},
		{"another account", "system:serviceaccount:other:boss", map[string]any{"kind": "ServiceAccount", "name": "boss", "namespace": "other"}},
		{"a user", "boss@example.com", map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "boss@example.com"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects := render(t, "holdshort", "ns", "--set", "manager.username="+c.username)
			for _, name := range []string{"ClusterRoleBinding/holdshort", "RoleBinding/holdshort"} {
				if diff := cmp.Diff([]any{c.want}, field(t, objects[name], "subjects")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestWhoMakesThePodsOfJobs(t *testing.T) {
	const path = "ValidatingAdmissionPolicy/holdshort-pods"
	for _, c := range []struct{ name, set, want string }{
		{"the built-in controller", "", `["system:serviceaccount:kube-system:job-controller","system:kube-controller-manager"]`},
		{"somebody else", "admissionPolicies.jobControllers={a,b}", `["a","b"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := field(t, render(t, "holdshort", "ns", "--set", c.set)[path], "spec", "validations").([]any)
			got := rules[0].(map[string]any)["expression"].(string)
			if !strings.HasSuffix(got, "request.userInfo.username in "+c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestTheDeploymentIsRestrictedAndItsFlagsExist(t *testing.T) {
	objects := render(t, "holdshort", "ns", "--set", "managedNamespaces.matchLabels.team=nlp",
		"--set-json", `managedNamespaces.matchExpressions=[{"key":"gpu","operator":"In","values":["a","b"]},{"key":"old","operator":"DoesNotExist"}]`)
	deployment := objects["Deployment/holdshort"]
	container := field(t, deployment, "spec", "template", "spec", "containers").([]any)[0].(map[string]any)
	want := map[string]any{
		"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": map[string]any{"drop": []any{"ALL"}},
	}
	if diff := cmp.Diff(want, container["securityContext"]); diff != "" {
		t.Errorf("security context (-want +got):\n%s", diff)
	}
	if field(t, deployment, "spec", "template", "spec", "securityContext", "runAsNonRoot") != true {
		t.Error("may run as root")
	}
	var args []string
	for _, arg := range container["args"].([]any) {
		args = append(args, arg.(string))
	}
	config, err := app.Parse(args, app.Defaults())
	if err != nil {
		t.Fatalf("the manager does not take what the chart gives it: %v", err)
	}
	if config.LedgerUser != "system:serviceaccount:ns:holdshort" || config.ManagedNamespaces == nil {
		t.Errorf("ledger user %q, namespaces %v", config.LedgerUser, config.ManagedNamespaces)
	}
}

func TestTheGarbageIsCollectedBelowTheMemoryLimit(t *testing.T) {
	for limit, want := range map[string]any{"1Gi": "921MiB", "512Mi": "460MiB", "1G": nil, "": nil} {
		container := field(t, render(t, "holdshort", "ns", "--set", "manager.resources.limits.memory="+limit)["Deployment/holdshort"],
			"spec", "template", "spec", "containers").([]any)[0].(map[string]any)
		var got any
		if env, there := container["env"].([]any); there {
			got = env[0].(map[string]any)["value"]
		}
		if got != want {
			t.Errorf("with a limit of %q GOMEMLIMIT is %v, want %v", limit, got, want)
		}
	}
}

func TestWithoutAPolicyTheStarterIsInForce(t *testing.T) {
	data := field(t, render(t, "holdshort", "ns")["ConfigMap/holdshort-policy"], "data").(map[string]any)
	got := strings.TrimSpace(data["data.yaml"].(string))
	if diff := cmp.Diff(strings.TrimSpace(string(policies.Starter())), got); diff != "" {
		t.Errorf("not the embedded starter. Try: cp policies/starter/data.yaml charts/holdshort/files/starter.yaml (-want +got):\n%s", diff)
	}
}

func TestThePolicyArrivesAsItWasWritten(t *testing.T) {
	values := t.TempDir() + "/values.yaml"
	text := `
policy:
  config:
    flavors: {gpu: {}}
    queues:
      research: {flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 4, memory: 123456789012, cpu: "2.5"}}}
  files:
    freeze.rego: |
      package holdshort.policy
      hold contains "{{ not a template }}"
`
	if err := os.WriteFile(values, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config := render(t, "holdshort", "ns", "-f", values)["ConfigMap/holdshort-policy"]
	if config == nil || config.GetLabels()["holdshort.dev/policy"] != "true" {
		t.Fatalf("no ConfigMap with the policy's label: %v", config)
	}
	data := field(t, config, "data").(map[string]any)
	var got map[string]any
	if err := yaml.Unmarshal([]byte(data["data.yaml"].(string)), &got); err != nil {
		t.Fatal(err)
	}
	quota, _, _ := unstructured.NestedMap(got, "holdshort", "config", "queues", "research", "quota", "gpu")
	want := map[string]any{"nvidia.com/gpu": int64(4), "memory": int64(123456789012), "cpu": "2.5"}
	if diff := cmp.Diff(want, quota); diff != "" {
		t.Errorf("quota (-want +got):\n%s\nin\n%s", diff, data["data.yaml"])
	}
	if got := data["freeze.rego"]; got != "package holdshort.policy\nhold contains \"{{ not a template }}\"\n" {
		t.Errorf("freeze.rego is %q", got)
	}
}

func TestAllFilesOfAPolicyMayBeGivenAsFiles(t *testing.T) {
	objects := render(t, "holdshort", "ns", "--set", "policy.files.data\\.yaml=one", "--set", "policy.shadow.files.data\\.yaml=two")
	for name, want := range map[string]string{"ConfigMap/holdshort-policy": "one", "ConfigMap/holdshort-policy-shadow": "two"} {
		if diff := cmp.Diff(map[string]any{"data.yaml": want}, field(t, objects[name], "data")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPoliciesAreCheckedWhileTheyAreApplied(t *testing.T) {
	config := render(t, "holdshort", "ns", "--set", "webhook.timeoutSeconds=1")["ValidatingWebhookConfiguration/holdshort-policies"]
	hook := field(t, config, "webhooks").([]any)[0].(map[string]any)
	got := []any{hook["failurePolicy"], hook["sideEffects"], hook["timeoutSeconds"], hook["objectSelector"], hook["namespaceSelector"]}
	labels := func(key, value string) map[string]any {
		return map[string]any{"matchLabels": map[string]any{key: value}}
	}
	want := []any{"Ignore", "None", float64(3), labels("holdshort.dev/policy", "true"), labels("kubernetes.io/metadata.name", "ns")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the entry (-want +got):\n%s", diff)
	}
	client := hook["clientConfig"].(map[string]any)
	if client["caBundle"] != nil || client["service"].(map[string]any)["path"] != policycheck.Path {
		t.Errorf("calls %v, want %s, without a caBundle", client, policycheck.Path)
	}
}
