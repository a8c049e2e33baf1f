// Package policies is the contract between policy authors and holdshort: the
// typed form of every document that goes into a policy (input) and comes out
// of it (catalog, verdict, reasons), and the default bundle.
//
// Everything here is plain data. Rego says what is wanted; the ledger proves
// what is possible. Amounts are integers: cpu in thousandths of a core, memory
// in bytes, everything else in whole units, so that a comparison in a policy
// never meets a string. Durations in outputs end in Seconds, in inputs in _s;
// moments are unix nanoseconds and end in _ns.
package policies
