// Package author has what a policy's author needs besides a verdict: lints,
// formatting, benchmarks, and bundles to ship. The plugin prints it.
//
// Everything goes through package engine, so that the same files and the same
// built-ins count here and there.
package author
