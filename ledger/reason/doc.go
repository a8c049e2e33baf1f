// Package reason holds every reason code with its sentence and advice. It is a
// leaf: the ledger, the CLI, metrics and docs all read it, so that a reason
// reads the same everywhere.
package reason
