// Package scenario plays files of a bundle through that say what happens in a
// cluster over hours or days, and what is to come of it: machines, Jobs as they
// arrive, what changes, and expectations. The bundle's own rules judge the Jobs, and
// the code of the live system decides, under the clock of package sim.
package scenario
