package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// write makes everything that has to be on disk before the programs start.
func (c *Cluster) write() error {
	if err := os.Mkdir(filepath.Join(c.Dir, "logs"), 0o700); err != nil {
		return fmt.Errorf("making a directory for logs: %w", err)
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	c.port, c.host = ports[0], fmt.Sprintf("https://127.0.0.1:%d", ports[0])
	if c.made, err = writeCredentials(c.Dir); err != nil {
		return err
	}
	c.caPEM = c.made.caPEM
	tokens, err := writeTokens(c.tokenFile())
	if err != nil {
		return err
	}
	for user, token := range tokens {
		if err := c.WriteKubeconfig(c.Kubeconfig(user), c.config(token)); err != nil {
			return err
		}
	}
	c.Admin, c.Alice, c.Bypass = c.config(tokens[Admin]), c.config(tokens[Alice]), c.config(tokens[Bypass])
	kubeletConfig := c.config(tokens[fakeKubelet])
	if c.Kubelet, err = kubelet.New(kubeletConfig); err != nil {
		return err
	}
	if c.options.Audit {
		c.AuditLog = filepath.Join(c.Dir, "logs", "audit.json")
	}
	if c.Client, err = kubernetes.NewForConfig(c.Admin); err != nil {
		return fmt.Errorf("making the admin's client: %w", err)
	}
	return c.writeProgramFiles()
}

const programsReadyTimeout = 3 * time.Minute

func (c *Cluster) startPrograms(ctx context.Context) error {
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, programsReadyTimeout)
	defer cancel()
	ports, err := freePorts(4)
	if err != nil {
		return err
	}
	if err := c.family.start(c.Binaries.Etcd, etcdArgs(c.Dir, ports[0], ports[1])); err != nil {
		return err
	}
	if err := c.waitReady(ctx, nil, fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[0])); err != nil {
		return err
	}
	c.say(started, "etcd is ready")
	if err := c.family.start(c.Binaries.APIServer, c.apiServerArgs(ports[0], c.port, c.made)); err != nil {
		return err
	}
	if err := c.waitReady(ctx, c.Admin, c.host+"/readyz"); err != nil {
		return err
	}
	c.say(started, "kube-apiserver is ready")
	if err := c.startClients(ctx, ports[2], ports[3]); err != nil {
		return err
	}
	c.say(started, "kube-controller-manager, kube-scheduler and %d nodes are ready", len(c.options.Nodes))
	return nil
}

// startClients starts what talks to the API server, all at once.
func (c *Cluster) startClients(ctx context.Context, managerPort, schedulerPort int) error {
	if err := c.family.start(c.Binaries.ControllerManager, c.controllerManagerArgs(managerPort, c.made)); err != nil {
		return err
	}
	if err := c.family.start(c.Binaries.Scheduler, c.schedulerArgs(schedulerPort, c.made)); err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	all, ctx := errgroup.WithContext(ctx)
	for _, port := range []int{managerPort, schedulerPort} {
		all.Go(func() error { return c.waitReady(ctx, c.Admin, fmt.Sprintf("https://127.0.0.1:%d/healthz", port)) })
	}
	all.Go(func() error { return c.prepare(ctx) })
	all.Go(func() error {
		if err := c.Kubelet.Start(background); err != nil {
			return err
		}
		return c.addNodes(ctx)
	})
	return all.Wait()
}

// nodesAtOnce keeps a plane of a thousand nodes from queueing at the API server.
const nodesAtOnce = 8

func (c *Cluster) addNodes(ctx context.Context) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(nodesAtOnce)
	for _, node := range c.options.Nodes {
		all.Go(func() error { return c.Kubelet.AddNode(ctx, node) })
	}
	return all.Wait()
}

const readyPollInterval = 30 * time.Millisecond

// waitReady polls a health endpoint until it says yes, a program ends, or the
// context does. A nil config means plain HTTP.
func (c *Cluster) waitReady(ctx context.Context, config *rest.Config, url string) error {
	client := http.DefaultClient
	if config != nil {
		var err error
		if client, err = rest.HTTPClientFor(config); err != nil {
			return fmt.Errorf("making a client for %s: %w", url, err)
		}
	}
	for {
		last := probe(ctx, client, url)
		if last == nil {
			return nil
		}
		if err := c.family.failure(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("waiting for %s: %w", url, ctx.Err()), last)
		case <-time.After(readyPollInterval):
		}
	}
}

func probe(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, response.Status)
	}
	return nil
}

// freePorts asks the system for ports that nobody uses now, all different. Who
// takes one before our program does makes that program end, and Start try again.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
