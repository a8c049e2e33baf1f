// Package engine turns a bundle of data and Rego into the typed answers of the
// contract (package policies). It is the only importer of OPA.
//
// A Revision is immutable: compiler, store, prepared queries and the typed
// catalog of one bundle. The Engine swaps revisions atomically, and only when
// everything about the new one checks out; the last good one stays otherwise.
// Live state never enters an OPA store: it goes in as input, so that the same
// revision and the same input give the same answer.
//
// An answer is either a value or an error that says file and row. An error is
// never an answer: whoever gets one holds the Job.
package engine
