package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// controllers of the controller manager that Jobs and pods need, and the extra
// ones; an extra name with a minus takes one away. A name that is not whole makes
// it refuse to start.
func controllers(extra []string) string {
	names := []string{
		"clusterrole-aggregation-controller",
		"cronjob-controller",
		"device-taint-eviction-controller",
		"garbage-collector-controller",
		"job-controller",
		"namespace-controller",
		"node-lifecycle-controller",
		"pod-garbage-collector-controller",
		"resourceclaim-controller",
		"resourcequota-controller",
		"serviceaccount-controller",
		"taint-eviction-controller",
		"ttl-after-finished-controller",
		"validatingadmissionpolicy-status-controller",
	}
	for _, name := range extra {
		if without, less := strings.CutPrefix(name, "-"); less {
			names = slices.DeleteFunc(names, func(n string) bool { return n == without })
		} else {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

func etcdArgs(dir string, client, peer int) []string {
	clientURL, peerURL := fmt.Sprintf("http://127.0.0.1:%d", client), fmt.Sprintf("http://127.0.0.1:%d", peer)
	return []string{
		"--name=plane",
		"--data-dir=" + filepath.Join(dir, "etcd"),
		"--listen-client-urls=" + clientURL,
		"--advertise-client-urls=" + clientURL,
		"--listen-peer-urls=" + peerURL,
		"--initial-advertise-peer-urls=" + peerURL,
		"--initial-cluster=plane=" + peerURL,
		"--unsafe-no-fsync", // what is lost with the machine is not missed
		"--quota-backend-bytes=8589934592",
		// Alone, it waits out one election before it serves.
		"--heartbeat-interval=10",
		"--election-timeout=100",
		"--log-level=warn",
	}
}

func (c *Cluster) apiServerArgs(etcd, port int, made *credentials) []string {
	args := []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", etcd),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + made.servingCert,
		"--tls-private-key-file=" + made.servingKey,
		"--cert-dir=" + filepath.Join(c.Dir, "certificates"),
		"--token-auth-file=" + c.tokenFile(),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + made.serviceAccount,
		"--service-account-signing-key-file=" + made.serviceAccount,
		"--service-cluster-ip-range=10.96.0.0/16",
		// ServiceAccount would refuse pods of a namespace until its default
		// account exists; TaintNodesByCondition would keep pods off a new node
		// until the controller manager has looked at it.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		"--enable-aggregator-routing=false",
		"--profiling=false",
	}
	if c.options.Audit {
		args = append(args, "--audit-policy-file="+c.auditPolicyFile(), "--audit-log-path="+c.AuditLog,
			"--audit-log-format=json", "--audit-log-mode=blocking", "--audit-log-maxsize=100000")
	}
	return c.emulated(args)
}

func (c *Cluster) controllerManagerArgs(port int, made *credentials) []string {
	kubeconfig := c.Kubeconfig(controllerManager)
	return c.emulated([]string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + made.servingCert,
		"--tls-private-key-file=" + made.servingKey,
		"--leader-elect=false",
		"--controllers=" + controllers(c.options.ExtraControllers),
		// So that admission policies meet the identities of a real cluster.
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + made.serviceAccount,
		"--root-ca-file=" + made.servingCert,
		// The defaults throttle the creation of pods to 20 a second.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		// The fake kubelet says itself when a node is not ready, and renews many
		// leases at leisure.
		"--node-monitor-grace-period=5m",
		"--profiling=false",
	})
}

func (c *Cluster) schedulerArgs(port int, made *credentials) []string {
	kubeconfig := c.Kubeconfig(scheduler)
	return c.emulated([]string{
		"--config=" + c.schedulerConfigFile(),
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + made.servingCert,
		"--tls-private-key-file=" + made.servingKey,
	})
}

func (c *Cluster) emulated(args []string) []string {
	if c.options.EmulatedVersion == "" {
		return args
	}
	return append(args, "--emulated-version="+c.options.EmulatedVersion)
}

const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %q
  qps: 1000
  burst: 2000
leaderElection:
  leaderElect: false
`

// One line per write, when it is answered; reads are not counted.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`

func (c *Cluster) tokenFile() string           { return filepath.Join(c.Dir, "tokens.csv") }
func (c *Cluster) schedulerConfigFile() string { return filepath.Join(c.Dir, "scheduler.yaml") }
func (c *Cluster) auditPolicyFile() string     { return filepath.Join(c.Dir, "audit-policy.yaml") }

func (c *Cluster) writeProgramFiles() error {
	files := map[string]string{
		c.schedulerConfigFile(): fmt.Sprintf(schedulerConfig, c.Kubeconfig(scheduler)),
		c.auditPolicyFile():     auditPolicy,
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("writing the plane's configuration: %w", err)
		}
	}
	return nil
}
