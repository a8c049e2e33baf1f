// Command plane runs a throw-away Kubernetes control plane on this machine,
// built from Go modules: no container engine, no downloads but modules.
//
//	go run ./test/plane up                       3 nodes, one with 8 GPUs, until ^C
//	go run ./test/plane up --gpus 8@1,4@2:NVIDIA-A100-SXM4-80GB --nodes 5
//	go run ./test/plane up --detach              goes on in the background …
//	go run ./test/plane kubectl get nodes        … where alice may look at it …
//	go run ./test/plane kubectl --as admin get jobs -A
//	go run ./test/plane down                     … until it is ended
//	go run ./test/plane build                    only builds, for later
//
// The first use builds etcd, the Kubernetes programs, kubectl and helm, which
// takes some minutes; they stay in the user's cache directory. A plane is ready
// in a few seconds after that. When it ends, however it ends, neither a process
// nor a file is left but that cache; two planes don't disturb each other.
//
// Pods run on paper: package kubelet says how long, by annotations of the pod.
// Tests use package cluster, and package history to judge afterwards what
// happened. Whatever needs a plane has the build tag "plane":
//
//	go test -tags plane ./test/...
package main
