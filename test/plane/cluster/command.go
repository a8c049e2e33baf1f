package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Command is a kubectl command of a user, for the caller to run. PATH is the
// caller's own, so that plugins are found.
func (c *Cluster) Command(ctx context.Context, as User, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Binaries.Kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(as), "KUBECACHEDIR="+filepath.Join(c.Dir, "kubectl-cache"))
	return cmd
}

// Kubectl runs kubectl as a user and returns its standard output. The error
// holds what it said on standard error.
func (c *Cluster) Kubectl(ctx context.Context, as User, args ...string) (string, error) {
	return c.KubectlIn(ctx, as, "", args...)
}

// KubectlIn is Kubectl with standard input, for `apply -f -`.
func (c *Cluster) KubectlIn(ctx context.Context, as User, stdin string, args ...string) (string, error) {
	cmd := c.Command(ctx, as, args...)
	cmd.Stdin = strings.NewReader(stdin)
	return output(cmd)
}

// Helm runs helm as the admin and returns its standard output.
func (c *Cluster) Helm(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.Binaries.Helm, args...)
	home := filepath.Join(c.Dir, "helm")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(Admin), "HELM_CACHE_HOME="+filepath.Join(home, "cache"),
		"HELM_CONFIG_HOME="+filepath.Join(home, "config"), "HELM_DATA_HOME="+filepath.Join(home, "data"))
	return output(cmd)
}

func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(cmd.Path), strings.Join(cmd.Args[1:], " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
