// Package policy is the command group `kubectl holdshort policy`: writing,
// checking and testing a bundle on one's own machine, and saying what the
// cluster does with it.
//
// It judges nothing itself. A bundle goes through the engine that the manager
// has, so that what passes here is what is put in force there, with the same
// words. Each subcommand is a file with a method of Plugin.
package policy
