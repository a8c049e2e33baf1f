// Package apply turns effects into API writes. It has no opinions: what to
// write was decided elsewhere, and each write holds only for the
// resourceVersion it was decided on.
//
// A write ends in one of four ways (see Outcome): it was done, it was refused
// because the object moved on, it was refused for good, or nobody knows yet.
// The difference matters: an assumed admission is dropped only when it is
// certain that nothing was written.
package apply
