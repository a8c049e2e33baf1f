// Package binaries builds the programs of the plane from Go modules: etcd, the
// Kubernetes control plane with kubectl, and helm.
//
// Each program belongs to one of the nested modules below test/plane/build,
// which exist only to pin versions. What is built lands in the user's cache
// directory, under a key made of the module's files, the Go version and the
// build flags, so a machine pays for a version once. A build happens in a
// scratch directory that is renamed into place when it is complete; a file lock
// keeps a second process waiting instead of building the same again.
package binaries
