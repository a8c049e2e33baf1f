// Package decide is the pure core: who may start now, on what, and why the
// others wait.
//
// Plan is a function of values: the same snapshot, catalog, verdicts and moment
// give the same plan, to the byte. It knows no clock, no Kubernetes and no OPA.
// What it needs from a policy's lazy rules it asks for (Result.Asks); the loop
// gets the answers and plans again.
//
// A plan is rounds. In a round at most one Job of each queue is looked at, the
// heads in the order of their rank (the policy's order, else priority, then
// arrival, then UID). A Job starts on the first of its flavors that has quota
// and machines for all of its pods. Room only gets less within a plan, so Jobs
// that are alike (class) need one look. The machines are proved against pods
// that were let go and are not bound yet, wherever those may land (machines).
package decide
