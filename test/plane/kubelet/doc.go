// Package kubelet plays the kubelets of all nodes of a plane, honestly: what a
// real one would refuse is refused, and what a real one would still hold is
// still held.
//
// One watch brings the bound pods of all nodes. Each node has a device table of
// its own, filled from the pods it started and not from the API server's view,
// so it is an oracle for whoever schedules: a pod that does not fit fails with
// OutOfcpu, OutOfpods or UnexpectedAdmissionError, as on a real node. Devices
// that a pod has by its claims are a table of their own: each is one claim's, and
// the counters of its card are added up without asking the scheduler. How long a
// pod runs and how it ends is said by its annotations (the constants Annotation…),
// at any time.
// A deleted pod goes on until its process ends, at the latest with its grace
// period; then it is reported terminal, and then its object is removed.
//
// Deciding is pure: table (what fits), life (what happens to a pod when) and
// report (what is said about it) know no client and no clock. Fleet is the shell.
package kubelet
