// Package record keeps what the policy was asked and what it said: one JSON line
// per decision, with the field names of OPA's decision logs, and what is ours
// under "holdshort".
//
// A record's input is all that the entrypoint may see, so that it can be asked
// again: stock OPA gives the same answer to it, and a new policy can be tried on
// it. Lines are kept in memory, the newest only, and in a file if there is one.
// A change of an answer is always recorded; that the same was said again about
// the same Job, only now and then.
package record
