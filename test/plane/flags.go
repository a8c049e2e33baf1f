package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/holdshort/holdshort/test/plane/cluster"
)

// defaultDir is where a plane of this command lives, below the working
// directory, so that each clone has its own.
const defaultDir = ".plane"

// upFlags are those of up.
type upFlags struct {
	dir, gpus, emulatedVersion, namespaces string
	nodes                                  int
	audit, keep, detach                    bool
}

func parseUp(args []string) (*upFlags, error) {
	f := &upFlags{}
	set := newFlagSet("up")
	set.StringVar(&f.dir, "dir", defaultDir, "directory of its data, logs and kubeconfigs; removed at the end")
	set.IntVar(&f.nodes, "nodes", 3, "number of nodes")
	set.StringVar(&f.gpus, "gpus", "8@1", "GPUs: COUNT@NODES[:PRODUCT], comma-separated; 8@1 is 8 on one node")
	set.StringVar(&f.emulatedVersion, "emulated-version", "", "behave like an older Kubernetes, such as 1.35")
	set.StringVar(&f.namespaces, "namespaces", "default", "where alice may edit, comma-separated; made if absent")
	set.BoolVar(&f.audit, "audit", false, "log every write to the API server in DIR/logs/audit.json")
	set.BoolVar(&f.keep, "keep", false, "leave the directory behind, for its logs")
	set.BoolVar(&f.detach, "detach", false, "return when it is ready; plane down ends it")
	return f, finish(set, args)
}

func newFlagSet(command string) *flag.FlagSet {
	return flag.NewFlagSet("plane "+command, flag.ContinueOnError)
}

// finish parses flags where nothing may follow them.
func finish(set *flag.FlagSet, args []string) error {
	if err := parse(set, args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%s: unexpected argument %q", set.Name(), set.Arg(0))
	}
	return nil
}

func parse(set *flag.FlagSet, args []string) error {
	err := set.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	return err
}

// options of the plane that the flags ask for.
func (f *upFlags) options() (cluster.Options, error) {
	nodes, err := nodeSpecs(f.nodes, f.gpus)
	if err != nil {
		return cluster.Options{}, err
	}
	return cluster.Options{
		Nodes: nodes, EmulatedVersion: f.emulatedVersion, Dir: f.dir, Keep: f.keep, Audit: f.audit, Log: os.Stderr,
	}, nil
}

// nodeSpecs names the nodes node-1 and so on, those with GPUs first.
func nodeSpecs(count int, gpus string) ([]cluster.NodeSpec, error) {
	if count < 0 {
		return nil, fmt.Errorf("--nodes %d: there is no such number of nodes. Try: --nodes 3", count)
	}
	var nodes []cluster.NodeSpec
	for group := range strings.SplitSeq(gpus, ",") {
		if strings.TrimSpace(group) == "" {
			continue
		}
		spec, n, err := gpuGroup(group)
		if err != nil {
			return nil, err
		}
		if len(nodes)+n > count {
			return nil, fmt.Errorf("--gpus %q wants more nodes than the %d there are. Try: --nodes %d", gpus, count, len(nodes)+n)
		}
		for range n {
			nodes = append(nodes, spec)
		}
	}
	for len(nodes) < count {
		nodes = append(nodes, cluster.NodeSpec{})
	}
	for i := range nodes {
		nodes[i].Name = "node-" + strconv.Itoa(i+1)
	}
	return nodes, nil
}

// gpuGroup reads COUNT@NODES[:PRODUCT].
func gpuGroup(group string) (cluster.NodeSpec, int, error) {
	numbers, product, _ := strings.Cut(strings.TrimSpace(group), ":")
	count, nodes, at := strings.Cut(numbers, "@")
	gpus, err1 := strconv.ParseInt(count, 10, 32)
	n, err2 := strconv.ParseInt(cmp.Or(nodes, "0"), 10, 16)
	if !at || err1 != nil || err2 != nil || gpus < 1 || n < 1 {
		return cluster.NodeSpec{}, 0, fmt.Errorf("--gpus %q is not COUNT@NODES[:PRODUCT]. Try: 8@1, or 8@1,4@2:NVIDIA-A100-SXM4-80GB", group)
	}
	return cluster.NodeSpec{GPUs: gpus, Product: product}, int(n), nil
}
