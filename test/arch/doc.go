// Package arch holds the shape of the project against what was agreed: which
// package may import which, how long a file may be, what may not be in it. Its
// table is the one of docs/architecture.md; when a rule changes, change the
// table and run
//
//	go test ./test/arch -update
//
// which writes the document anew. Every failure names the rule and its reason.
package arch
