// Package placement holds what the ledger says of a gang's room against what the
// real scheduler does with its pods, on clusters and Jobs drawn at random.
//
// The ledger's core decides as a library: the objects are read by intake, kept by
// book, planned by decide, and written by apply's patch; no manager runs. Who was
// let go must have all its pods bound and taken in. Who was not is let go all the
// same in the end: then the scheduler must find no node for one pod at least, or
// the ledger was stricter for a reason that classes() names.
//
// Some clusters have devices by dynamic resource allocation: whole cards and cards that
// can be cut, in one pool or two, complete or not, tainted or not, beside nodes that
// serve the same resource by a device plugin; and claims of every kind, of Jobs and of
// pods that nobody queued.
//
// Some have volumes that are somewhere, or nowhere, and claims that one pod at a time may
// have; LimitRanges and RuntimeClasses that change what pods ask for; and nodes that do not
// declare what some pods need.
//
// A cluster is its seed. On a failure both are printed; HOLDSHORT_SEED=N and
// HOLDSHORT_CLUSTERS=1 play that one again.
package placement
