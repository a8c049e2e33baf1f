// Package sim runs the deciding code of the live system, book and plan, under a
// clock of its own: workloads arrive, pods start, end and are taken back, nodes
// and policies change, and after every moment at which anything happened there is
// a plan, as in the loop.
//
// What stands for the cluster is small: a Job controller that makes as many pods
// as a Job wants, a scheduler that binds each to any node with room for it, and
// kubelets that take their time. Whatever is left to chance comes from one seed,
// so that a run can be had again. A run that does not come to an end is an error.
package sim
