package stories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/test/plane/cluster"
)

// Where the chart is installed.
const (
	Namespace = "holdshort-system"
	Release   = "holdshort"
	// Account is the ledger's identity.
	Account = "system:serviceaccount:" + Namespace + ":" + Release
)

// Options of an Env.
type Options struct {
	Nodes           []cluster.NodeSpec
	EmulatedVersion string
	Policy          string   // data.yaml
	Values          []string // more --set for helm
	Audit           bool
	Controllers     []string // more controllers for the plane
	Log             io.Writer
	Dir             string // of the plane; empty: temporary
	Bin             string // where our binaries are, built already; empty: they are built
}

// Env is a control plane with holdshort installed, the manager running outside.
type Env struct {
	*cluster.Cluster
	Manager *Manager
	bin     string // our binaries
	log     io.Writer
}

// Start brings up a plane, installs the chart and starts the manager.
func Start(ctx context.Context, o Options) (*Env, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	c, err := cluster.Start(ctx, cluster.Options{
		Nodes: o.Nodes, EmulatedVersion: o.EmulatedVersion, Audit: o.Audit,
		ExtraControllers: o.Controllers, Log: o.Log, Dir: o.Dir,
	})
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	e := &Env{Cluster: c, bin: o.Bin, log: o.Log}
	if err := e.install(ctx, o); err != nil {
		return nil, joinStop(err, c)
	}
	return e, nil
}

func joinStop(err error, c *cluster.Cluster) error {
	if stop := c.Stop(); stop != nil {
		return fmt.Errorf("%w (and stopping the plane: %w)", err, stop)
	}
	return err
}

// Stop ends manager and plane. It fails if the manager's book was ever off: it puts that
// right by itself, so that nobody else would notice.
func (e *Env) Stop() error {
	e.Manager.Stop()
	return errors.Join(e.Manager.balanced(), e.Cluster.Stop())
}

func (e *Env) install(ctx context.Context, o Options) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	if e.bin == "" {
		e.bin = filepath.Join(e.Dir, "bin")
		fmt.Fprintln(e.log, "building the manager and the kubectl plugin")
		if out, err := run(ctx, root, "go", "build", "-o", e.bin+"/", "./cmd/..."); err != nil {
			return fmt.Errorf("building our binaries: %w\n%s", err, out)
		}
	}
	m, err := newManager(e, filepath.Join(e.bin, "holdshort"))
	if err != nil {
		return err
	}
	e.Manager = m
	fmt.Fprintln(e.log, "installing charts/holdshort with Helm")
	if err := e.helm(ctx, root, o); err != nil {
		return err
	}
	account, err := e.ServiceAccountConfig(ctx, Namespace, Release)
	if err != nil {
		return fmt.Errorf("getting a token of the ledger's account: %w", err)
	}
	if err := e.WriteKubeconfig(m.kubeconfig, account); err != nil {
		return err
	}
	fmt.Fprintln(e.log, "starting the manager, outside the cluster, with the chart's own rights")
	return m.Start(ctx)
}

func (e *Env) helm(ctx context.Context, root string, o Options) error {
	args := []string{
		"install", Release, filepath.Join(root, "charts", "holdshort"), "-n", Namespace, "--create-namespace",
		"--set", "manager.enabled=false", "--set", "webhook.url=" + e.Manager.URL(),
	}
	if o.Policy != "" {
		values, err := policyValues(o.Policy)
		if err != nil {
			return err
		}
		file := filepath.Join(e.Dir, "values.yaml")
		if err := os.WriteFile(file, values, 0o600); err != nil {
			return err
		}
		args = append(args, "-f", file)
	}
	for _, set := range o.Values {
		args = append(args, "--set", set)
	}
	if _, err := e.Helm(ctx, args...); err != nil {
		return fmt.Errorf("installing the chart: %w", err)
	}
	return nil
}

// policyValues turns a data.yaml into the chart's policy.config.
func policyValues(data string) ([]byte, error) {
	var file struct {
		Holdshort struct{ Config map[string]any }
	}
	if err := yaml.Unmarshal([]byte(data), &file); err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return yaml.Marshal(map[string]any{"policy": map[string]any{"config": file.Holdshort.Config}})
}

// SetPolicy edits the policy as a platform engineer would: the ConfigMap's data
// becomes just these files. More are arguments for kubectl.
func (e *Env) SetPolicy(ctx context.Context, files map[string]string, more ...string) error {
	ops := []map[string]any{{"op": "replace", "path": "/data", "value": files}}
	patch, err := json.Marshal(ops)
	if err != nil {
		return err
	}
	args := []string{"-n", Namespace, "patch", "configmap", Release + "-policy", "--type=json", "-p", string(patch)}
	_, err = e.Kubectl(ctx, cluster.Admin, append(args, more...)...)
	return err
}

// Plugin runs `kubectl holdshort …` as a user.
func (e *Env) Plugin(ctx context.Context, as cluster.User, args ...string) (string, error) {
	cmd := e.Command(ctx, as, append([]string{"holdshort"}, args...)...)
	cmd.Env = append(cmd.Environ(), "PATH="+e.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := run(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/holdshort/holdshort")
	if err != nil {
		return "", fmt.Errorf("finding the module: %w\n%s. Try: run this inside a clone of holdshort", err, out)
	}
	return strings.TrimSpace(out), nil
}

func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// BinDir is where our binaries are, KubectlDir where kubectl is.
func (e *Env) BinDir() string { return e.bin }

// KubectlDir is where the plane's kubectl is.
func (e *Env) KubectlDir() string { return filepath.Dir(e.Binaries.Kubectl) }

// Nowhere is a configuration for a server that does not answer.
func Nowhere(config *rest.Config) *rest.Config {
	nowhere := rest.CopyConfig(config)
	nowhere.Host = "https://127.0.0.1:1"
	return nowhere
}
