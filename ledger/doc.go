// Package ledger is the loop: the one shell that drives the pure core.
//
// Watches mark what changed; the loop takes one batch at a time, turns it into
// plain values (intake), updates the book, asks the policy what is wanted,
// plans, assumes what the plan admits, and hands the effects to writers. What
// they report comes back like any other change. Nothing here decides: deciding
// is package decide's, which the loop calls with values only.
//
// Everything the loop knows it could learn again from the cluster's objects;
// a restart does exactly that.
package ledger
