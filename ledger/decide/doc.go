// Package decide is the pure core: who may start now, on what, and why the
// others wait.
//
// Plan is a function of values: the same snapshot, catalog, verdicts and moment
// give the same plan, to the byte. It knows no clock, no Kubernetes and no OPA.
// What it needs from a policy's lazy rules it asks for (Result.Asks); the loop
// gets the answers and plans again.
//
// A Planner makes the same plans, one after the other, and looks only at those for
// whom something has changed: it takes up what is new in the book (catchup), opens
// the lines in which somebody might fit (reopen), and afterwards tells whose reason
// is another one (report). Plan is a planner that knows nothing.
//
// A plan is rounds (rounds). In each, the first Job of every queue is looked at, all
// against the same picture: the best flavor for every part of it (assign), and whom
// it might displace (victims, classical, fair). Then they are taken in order
// (order), each seeing what those before it took. It goes on until nobody is left
// who was not tried. Room only gets less while Jobs start, so those that are alike
// (class) need one look; where others are taken back, everybody gets another.
//
// There are two trees of quotas: as things are, and as they will be when those have
// gone who are taken back. A Job is planned on the second and starts when the first
// allows it too; until then its room is kept (leaving). For the head of a line that
// may be backfilled, room is booked at the moment when it can start (backfill).
//
// The machines are proved against pods that were let go and are not bound yet,
// wherever those may land (machines).
package decide
