package cluster

import (
	"io"

	"github.com/holdshort/holdshort/test/plane/kubelet"
)

// NodeSpec describes a node.
type NodeSpec = kubelet.NodeSpec

// Options for Start. The zero value is a plane without nodes.
type Options struct {
	Nodes []NodeSpec
	// EmulatedVersion makes the same programs behave like an older Kubernetes
	// ("1.35" has no mutating admission policies); empty is the current one.
	EmulatedVersion string
	// Dir holds the data, logs and kubeconfigs; it must be absent or empty.
	// Empty means a new temporary directory.
	Dir string
	// Keep leaves Dir behind after Stop, for its logs.
	Keep bool
	// Log gets the progress of builds and of the start; nil means nobody.
	Log io.Writer
	// Audit records every write to the API server, see Cluster.AuditLog.
	Audit bool
	// ExtraControllers to run beside the usual ones, by their whole names
	// ("deployment-controller"); one with a minus before it does not run
	// ("-job-controller": who starts the plane plays it).
	ExtraControllers []string
}

// User is somebody with a kubeconfig.
type User string

// The users of a plane.
const (
	Admin  User = "admin"  // system:masters
	Alice  User = "alice"  // role edit in the namespaces that Namespace makes
	Bypass User = "bypass" // as alice, and the verb bypass on queues.holdshort.dev
)

// The accounts of the plane's own parts.
const (
	controllerManager User = "kube-controller-manager"
	scheduler         User = "kube-scheduler"
	fakeKubelet       User = "fake-kubelet"
)

// account says as whom the API server sees a user.
type account struct {
	user   User
	name   string
	groups string
}

func accounts() []account {
	return []account{
		{Admin, "admin", "system:masters"},
		{Alice, "alice", ""},
		{Bypass, "bypass", ""},
		{controllerManager, "system:kube-controller-manager", ""},
		{scheduler, "system:kube-scheduler", ""},
		{fakeKubelet, "plane:fake-kubelet", "system:masters"},
	}
}
