// Package decide is the pure core: who may start now, on what, and why the
// others wait.
//
// Plan is a function of values: the same snapshot, catalog, verdicts and moment
// give the same plan, to the byte. It knows no clock, no Kubernetes and no OPA.
// What it needs from a policy's lazy rules it asks for (Plan.Asks); the loop
// gets the answers and plans again.
package decide
