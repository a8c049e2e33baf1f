package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdshort/holdshort/test/plane/binaries"
	"github.com/holdshort/holdshort/test/plane/cluster"
)

// up runs a plane until a signal comes or whoever started it is gone.
func up(ctx context.Context, args []string) error {
	f, err := parseUp(args)
	if err != nil {
		return err
	}
	if f.detach {
		return detach(ctx, args)
	}
	c, err := bringUp(ctx, f)
	if err != nil {
		return err
	}
	fmt.Println("^C ends it.")
	return errors.Join(watch(ctx, c, os.Getppid()), c.Stop())
}

// bringUp starts the plane and says where everything is.
func bringUp(ctx context.Context, f *upFlags) (*cluster.Cluster, error) {
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	started := time.Now()
	c, err := cluster.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(f.namespaces, ",") {
		if name == "" {
			continue
		}
		if err := c.Namespace(ctx, name); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	describe(os.Stdout, c, f, time.Since(started))
	return c, nil
}

func describe(out io.Writer, c *cluster.Cluster, f *upFlags, took time.Duration) {
	fmt.Fprintf(out, "plane is ready after %.1f s: Kubernetes %s, %d nodes, GPUs %s\n", took.Seconds(), binaries.KubernetesVersion, f.nodes, f.gpus)
	fmt.Fprintf(out, "kubectl  %s\nhelm     %s\nlogs     %s\n", c.Binaries.Kubectl, c.Binaries.Helm, filepath.Join(c.Dir, "logs"))
	who := map[cluster.User]string{
		cluster.Admin:  "cluster admin",
		cluster.Alice:  "role edit in " + f.namespaces,
		cluster.Bypass: "as alice, and the verb bypass on queues.holdshort.dev",
	}
	for _, user := range []cluster.User{cluster.Admin, cluster.Alice, cluster.Bypass} {
		fmt.Fprintf(out, "%-8s %s  (%s)\n", user, c.Kubeconfig(user), who[user])
	}
	fmt.Fprintf(out, "Try: export KUBECONFIG=%s\n", c.Kubeconfig(cluster.Alice))
}

const watchInterval = time.Second

// watch returns when the context ends, a program of the plane does, or the
// parent process is no longer the given one (0: whoever it is).
func watch(ctx context.Context, c *cluster.Cluster, parent int) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := c.Failure(); err != nil {
			return err
		}
		if parent != 0 && os.Getppid() != parent {
			return errors.New("whoever started this plane is gone, so it ends")
		}
	}
}
