// Package dra turns the devices of dynamic resource allocation into what the
// rest of the ledger counts in: integers per node.
//
// A device set is one request for so many devices of a kind: the node's row says
// how many of them there are and how many are free, and a pod takes as many as it
// asks for. Everything else that claims can say (several requests, constraints,
// alternatives, all devices, counters) is a kit: the row says how many pods
// with these claims the node can still take, found out by allocating until it
// fails, with the scheduler's own allocator. Where the devices of a set consume
// counters, its row comes from the allocator too.
//
// What is not known for certain counts as nothing: an incomplete or invalid pool,
// a pool that several nodes take from, a claim that the scheduler would
// give up. A row may say less than the scheduler would find, never more.
package dra
