// Package report says in plain values what the plugin shows: a row for each
// Queue and Job, and the explanation of one Job. The values are the JSON output
// too, so a table never shows what the JSON lacks.
//
// Everything here is a function of the objects that were read and the moment:
// no client, no clock. Amounts are the integers of the policy contract (cpu in
// thousandths of a core, memory in bytes, everything else whole); moments are
// RFC 3339.
package report
