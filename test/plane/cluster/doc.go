// Package cluster starts a throw-away Kubernetes control plane on this machine:
// etcd, kube-apiserver, kube-controller-manager and kube-scheduler as child
// processes on free loopback ports, and a fake kubelet for all nodes in this
// process.
//
// Start returns when Jobs can be created and pods scheduled. Stop ends all of
// it at once. When this process dies in any way, SIGKILL included, nothing is
// left: a small shell beside it, which reads a pipe that only this process
// holds open, ends what still runs and removes the directory; on Linux the
// kernel ends the children by itself.
//
// It is for tests. Anyone on this machine can reach etcd.
package cluster
