// Package book is who holds what: the machines, the pods on them, the Jobs that
// were admitted and what was promised to them.
//
// Every observation changes the sums by what it changes, never by a walk over
// everything. A Job that is being admitted counts from before its PATCH is sent
// (Assume) until the written object is seen (Settle) or the write is known to
// have failed (Forget), whatever older objects arrive in between.
//
// Charge of an admitted Job, for each flavor and resource:
// max(what it may run, what its pods hold, terminating ones included). Of one that
// is suspended, over or being deleted: what its pods hold, by the label and
// annotation that the admission put on them. Of pods whose Job is gone: the same,
// bound or not, since they may be bound at any moment. What no admission marked is
// loose.
// Promise of an admitted Job: the pods it may run less those that are bound.
package book
