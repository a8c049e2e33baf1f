// Package history records what the API server's objects went through and says
// afterwards whether an invariant was broken on the way.
//
// A test that polls sees some moments; this sees every version of every Job,
// Pod and Node, in the order of their resourceVersions, which in one etcd is
// the order in which they were written. Record with Start, wait with Flush,
// judge with Check.
//
// A Job is charged by the reservation that it was lifted with: what it says of
// itself later may be forged.
//
// Check is pure, over a list of events, and counts for itself: it shares no
// code with the ledger but the names of labels and the form of the reservation.
// Rules it knows, by the names that its violations carry:
//
//	quota          whenever a Job is admitted, a pod is made, bound or leaves its Job, or anything else adds to
//	               it: charges of a queue's flavor and resource ≤ the limit. Charged is for each admitted Job
//	               max(what it may run, what its pods hold), and any other pod that an admission marked; bound
//	               or not, and while it terminates
//	devices        whenever a pod is bound: what the node's pods hold ≤ allocatable
//	authority      a queued Job starts suspended, is lifted with its own reservation or a bypass,
//	               and nobody changes that reservation while it runs or is being deleted
//	once           no second admission of a Job that was not suspended in between
//	terminal       no admission of a Job that is finished or being deleted
//	unschedulable  no pod of an admitted Job was ever found unschedulable (unless that is expected)
//	ran-once       (if asked) each Job was admitted once and not suspended again, made a pod for each
//	               completion, and completed
//	gap            the recording itself missed something
//
// Writes reads the API server's audit log: who wrote how often.
package history
