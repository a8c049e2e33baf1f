// Package resource counts: amounts of named resources as integers that
// saturate instead of wrapping.
//
// Units are those of the policy contract: cpu in thousandths of a core, memory
// in bytes, everything else whole. A saturated amount compares as bigger than
// anything a quota or a node can hold, so what cannot be counted never fits.
package resource
