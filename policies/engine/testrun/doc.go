// Package testrun runs the tests that a bundle brings along: before a candidate
// comes into force, while it is applied, and for its author. It says which
// expression did not hold, and which rows of the rules no test reaches.
//
// Library and defaults stand beside the bundle, with the engine's own built-ins,
// so that a test ends here and there alike.
package testrun
