package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/test/plane/binaries"
	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/kubelet"
	"github.com/holdshort/holdshort/test/stories"
)

// Where Kueue's chart is installed, and what is named after that.
const (
	system     = "kueue-system"
	account    = "kueue-controller-manager"
	service    = "kueue-webhook-service"
	certSecret = "kueue-webhook-server-cert"
	configMap  = "kueue-manager-config"
	configKey  = "controller_manager_config.yaml"
)

// kueue is one that is installed on a plane, and its process beside it.
type kueue struct {
	env        *stories.Env
	program    binaries.Kueue
	config     map[string]any // the chart's
	kubeconfig string
	certs      string // directory
	webhook    int    // ports
	health     int
}

// variant is how Kueue is set up.
type variant struct {
	name        string
	namespace   string
	flavor      string         // the rest of a ResourceFlavor's spec
	wait        map[string]any // waitForPodsReady
	annotations map[string]string
}

// variants: the first is the one that promises all or nothing.
func variants(all bool) []variant {
	wait := map[string]any{
		"timeout": "20s", "blockAdmission": true,
		"requeuingStrategy": map[string]any{"backoffBaseSeconds": 1, "backoffMaxSeconds": 10},
	}
	list := []variant{{name: "Kueue, waitForPodsReady", namespace: "kueue-wait", flavor: "{}", wait: wait}}
	if all {
		list = append(list,
			variant{name: "Kueue, quota alone", namespace: "kueue-quota", flavor: "{}"},
			variant{
				name: "Kueue, topology-aware scheduling", namespace: "kueue-topology", wait: wait,
				flavor:      `{topologyName: nodes, nodeLabels: {nvidia.com/gpu.present: "true"}}`,
				annotations: map[string]string{"kueue.x-k8s.io/podset-unconstrained-topology": "true"},
			})
	}
	return list
}

// runKueue installs Kueue, and has it run the load, in each of its variants.
func runKueue(ctx context.Context, env *stories.Env, program binaries.Kueue, l load, o options) ([]result, error) {
	fmt.Fprintln(os.Stderr, "installing Kueue", binaries.KueueVersion, "with the chart of its module")
	k, err := install(ctx, env, program)
	if err != nil {
		return nil, fmt.Errorf("installing Kueue: %w", err)
	}
	var results []result
	for _, v := range variants(o.all) {
		r, err := k.run(ctx, v, l, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		results = append(results, r)
	}
	return results, nil
}

func install(ctx context.Context, env *stories.Env, program binaries.Kueue) (*kueue, error) {
	ports, err := stories.FreePorts(2)
	if err != nil {
		return nil, err
	}
	k := &kueue{
		env: env, program: program, webhook: ports[0], health: ports[1],
		certs: filepath.Join(env.Dir, "kueue-certs"), kubeconfig: filepath.Join(env.Dir, "kueue.kubeconfig"),
	}
	if err := os.MkdirAll(k.certs, 0o700); err != nil {
		return nil, err
	}
	if err := env.Namespace(ctx, system); err != nil {
		return nil, err
	}
	rendered, err := env.Helm(ctx, "template", "kueue", filepath.Join(program.Source, "charts", "kueue"), "-n", system)
	if err != nil {
		return nil, err
	}
	manifests, err := k.adapt(rendered)
	if err != nil {
		return nil, err
	}
	if _, err := env.KubectlIn(ctx, cluster.Admin, manifests, "apply", "--server-side", "-f", "-"); err != nil {
		return nil, err
	}
	config, err := env.ServiceAccountConfig(ctx, system, account)
	if err != nil {
		return nil, err
	}
	return k, env.WriteKubeconfig(k.kubeconfig, config)
}

// adapt changes what the chart makes where the process runs beside the cluster: the API
// server finds its webhooks by a Service that names this machine.
func (k *kueue) adapt(rendered string) (string, error) {
	var manifests strings.Builder
	documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(rendered), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(&o.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", fmt.Errorf("reading the chart: %w", err)
		}
		switch o.GetKind() {
		case "", "Deployment", "Service", "APIService":
			continue
		case "ConfigMap":
			if err := k.read(o); err != nil {
				return "", err
			}
		}
		redirect(o.Object, int64(k.webhook))
		text, err := k8syaml.Marshal(o.Object)
		if err != nil {
			return "", err
		}
		manifests.WriteString(string(text) + "---\n")
	}
	if k.config == nil {
		return "", fmt.Errorf("the chart has no ConfigMap %s", configMap)
	}
	fmt.Fprintf(&manifests, `apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %s}
spec: {type: ExternalName, externalName: localhost}
`, service, system)
	return manifests.String(), nil
}

func (k *kueue) read(o *unstructured.Unstructured) error {
	text, found, err := unstructured.NestedString(o.Object, "data", configKey)
	if o.GetName() != configMap || !found || err != nil {
		return err
	}
	return k8syaml.Unmarshal([]byte(text), &k.config)
}

// redirect sets the port of whatever names the webhooks' Service.
func redirect(within any, port int64) {
	switch within := within.(type) {
	case map[string]any:
		if client, is := within["clientConfig"].(map[string]any); is {
			if to, is := client["service"].(map[string]any); is && to["name"] == service {
				to["port"] = port
			}
		}
		for _, value := range within {
			redirect(value, port)
		}
	case []any:
		for _, value := range within {
			redirect(value, port)
		}
	}
}

// configuration of a variant: the chart's, but for what the place demands.
func (k *kueue) configuration(v variant) ([]byte, error) {
	config := map[string]any{}
	for key, value := range k.config {
		config[key] = value
	}
	config["namespace"] = system
	config["health"] = map[string]any{"healthProbeBindAddress": fmt.Sprintf("127.0.0.1:%d", k.health)}
	config["metrics"] = map[string]any{"bindAddress": "0"}
	config["webhook"] = map[string]any{"host": "127.0.0.1", "port": k.webhook, "certDir": k.certs}
	config["leaderElection"] = map[string]any{"leaderElect": false}
	config["integrations"] = map[string]any{"frameworks": []string{"batch/job"}}
	config["internalCertManagement"] = map[string]any{"enable": true, "webhookServiceName": service, "webhookSecretName": certSecret}
	config["featureGates"] = map[string]any{"VisibilityOnDemand": false}
	if v.wait != nil {
		config["waitForPodsReady"] = v.wait
	}
	return k8syaml.Marshal(config)
}

// kueueReadyWithin is longer than ours: it looks for its certificates with a backoff.
const kueueReadyWithin = 3 * time.Minute

func (k *kueue) run(ctx context.Context, v variant, l load, o options) (result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	config, err := k.configuration(v)
	if err != nil {
		return result{}, err
	}
	file := filepath.Join(k.env.Dir, v.namespace+".yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return result{}, err
	}
	p := stories.NewProgram("Kueue", k.program.Program, filepath.Join(k.env.Dir, v.namespace+".log"), k.health)
	p.Within = kueueReadyWithin
	if err := p.Launch("--config", file, "--kubeconfig", k.kubeconfig, "--zap-log-level", "2"); err != nil {
		return result{}, err
	}
	defer p.Stop()
	go k.mount(ctx)
	if err := p.WaitReady(ctx); err != nil {
		return result{}, err
	}
	if err := k.queues(ctx, v); err != nil {
		return result{}, err
	}
	return run(ctx, k.env, l, o, contender{name: v.name, namespace: v.namespace, tail: p.Tail, mark: func(j *batchv1.Job) {
		j.Labels["kueue.x-k8s.io/queue-name"] = "peer"
		for key, value := range v.annotations {
			j.Spec.Template.Annotations[key] = value
		}
	}})
}

// mount plays the kubelet: what Kueue keeps in its Secret comes into its directory.
func (k *kueue) mount(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		secret, err := k.env.Client.CoreV1().Secrets(system).Get(ctx, certSecret, metav1.GetOptions{})
		if err != nil || len(secret.Data["tls.key"]) == 0 {
			continue
		}
		for name, data := range secret.Data {
			path := filepath.Join(k.certs, name)
			if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, data) {
				continue
			}
			if os.WriteFile(path+".new", data, 0o600) == nil {
				_ = os.Rename(path+".new", path) // if it does not work, Kueue says so
			}
		}
	}
}

// queues of a variant: one over all GPUs.
func (k *kueue) queues(ctx context.Context, v variant) error {
	if err := k.env.Namespace(ctx, v.namespace); err != nil {
		return err
	}
	manifests := fmt.Sprintf(`apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: nodes}
spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: %[1]s}
spec: %[2]s
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %[1]s}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [%[3]s]
    flavors: [{name: %[1]s, resources: [{name: %[3]s, nominalQuota: %[4]d}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: peer, namespace: %[1]s}
spec: {clusterQueue: %[1]s}
`, v.namespace, v.flavor, kubelet.ResourceGPU, gpus)
	if _, err := k.env.KubectlIn(ctx, cluster.Admin, manifests, "apply", "-f", "-"); err != nil {
		return err
	}
	return stories.Eventually(ctx, time.Minute, "the ClusterQueue is active", func(ctx context.Context) (bool, string) {
		out, err := k.env.Kubectl(ctx, cluster.Admin, "get", "clusterqueue", v.namespace, "-o", `jsonpath={.status.conditions[?(@.type=="Active")].status}`)
		return err == nil && out == "True", out
	})
}
