// Package demand says what a workload asks for, as plain values: pod sets,
// where they may run, and what is recorded on the Job once it was admitted.
//
// No Kubernetes type appears here. package intake makes these values from
// Kubernetes objects; everything that decides works on them alone.
package demand
