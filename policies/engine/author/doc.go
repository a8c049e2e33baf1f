// Package author has what a policy's author needs besides a verdict: tests with
// what differed and coverage, lints, formatting, benchmarks, and bundles to
// ship. The plugin prints it; the manager runs a bundle's tests with it before
// it puts the bundle into force.
//
// Everything goes through package engine, so that the same files and the same
// built-ins count here and there.
package author
