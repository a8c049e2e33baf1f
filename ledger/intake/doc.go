// Package intake turns Kubernetes objects into plain values: a Job into
// demand, pods and nodes into supply. It also holds the one predicate that says
// which Jobs are managed.
//
// Everything here is a function of its arguments: no client, no clock. So the
// webhook, the command line and the loop read a Job in the same way. A Job's
// pods are counted as the API server and the Job controller will make them, not
// as the template shows them: the template has neither the defaults of the
// namespace's LimitRanges nor the overhead of a RuntimeClass.
//
// What is not emulated: webhooks of others that change pods, and the admission
// plugins PodNodeSelector and ExtendedResourceToleration, which are off unless
// an operator turns them on.
package intake
