package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdshort/holdshort/test/plane/binaries"
	"github.com/holdshort/holdshort/test/plane/cluster"
)

const downTimeout = 30 * time.Second

// down ends the plane of a directory; that there is none is what was wanted.
func down(ctx context.Context, args []string) error {
	set := newFlagSet("down")
	dir := set.String("dir", defaultDir, "directory of the plane")
	if err := finish(set, args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	err := cluster.Down(ctx, *dir)
	if errors.Is(err, cluster.ErrNoPlane) {
		fmt.Println("plane:", err)
		return nil
	}
	return err
}

// kubectl runs kubectl, from the cache, on the plane of a directory.
func kubectl(ctx context.Context, args []string) error {
	set := newFlagSet("kubectl")
	dir := set.String("dir", defaultDir, "directory of the plane")
	as := set.String("as", string(cluster.Alice), "admin, alice or bypass")
	if err := parse(set, args); err != nil {
		return err
	}
	if err := knownUser(*as); err != nil {
		return err
	}
	kubeconfig, err := filepath.Abs(filepath.Join(*dir, *as+".kubeconfig"))
	if err != nil {
		return fmt.Errorf("finding the kubeconfig: %w", err)
	}
	if _, err := os.Stat(kubeconfig); err != nil {
		return fmt.Errorf("there is no plane in %s: %w. Try: go run ./test/plane up --detach", *dir, err)
	}
	programs, err := binaries.Ensure(ctx, os.Stderr)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, programs.Kubectl, set.Args()...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// knownUser refuses whom no plane knows, whether or not there is one.
func knownUser(name string) error {
	users := []string{string(cluster.Admin), string(cluster.Alice), string(cluster.Bypass)}
	if !slices.Contains(users, name) {
		return fmt.Errorf("--as %s: the plane knows no such user. Try: --as %s", name, strings.Join(users, ", or "))
	}
	return nil
}

// build fills the cache and says what is there.
func build(ctx context.Context, args []string) error {
	if err := finish(newFlagSet("build"), args); err != nil {
		return err
	}
	programs, err := binaries.Ensure(ctx, os.Stderr)
	if err != nil {
		return err
	}
	for _, path := range []string{programs.Etcd, programs.APIServer, programs.ControllerManager, programs.Scheduler, programs.Kubectl, programs.Helm} {
		fmt.Println(path)
	}
	return nil
}
