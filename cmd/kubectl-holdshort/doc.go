// Command kubectl-holdshort is the kubectl plugin for the people who submit
// Jobs and for those who own a queue: what waits, why, and what would change it.
//
// It reads Jobs, Queues and events with the caller's own rights and writes
// nothing. Results go to stdout, everything else to stderr. Exit codes: 0 the
// question was answered, 1 it could not be, 2 the answer is "no".
package main
