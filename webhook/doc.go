// Package webhook is what holdshort does while the API server admits a Job: it
// suspends it, stamps its arrival, writes what the policy's mutate wants, tells
// its deny and warn, and on update puts back what the ledger and mutate wrote and
// the update left out.
//
// What must hold while the manager is down lies in the API server itself (the
// chart's admission policies); this handler repeats it, so that a server without
// mutating policies gets the same. It writes nothing, keeps nothing but the last
// stamps it gave, and answers with a minimal patch of the raw object, so that
// fields which this build does not know survive.
package webhook
