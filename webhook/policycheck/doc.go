// Package policycheck is what holdshort says while somebody applies a ConfigMap
// with policy: it puts the edit beside the other ConfigMaps of the policy, has
// the manager's own engine compile all of it, and refuses what the rollout would
// refuse, with file, row and the line it is about.
//
// It is a courtesy, not a gate. Only what the edit itself gets wrong is refused;
// whatever cannot be judged in time is let pass with a warning, for the rollout
// judges again and never puts a bad policy into force. Nothing is written or
// logged: policies may quote what others must not read.
package policycheck
