// Package supply says what the cluster has and who holds it, as plain values:
// nodes and pods. No Kubernetes type appears here; see package intake.
package supply
