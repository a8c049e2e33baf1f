// Package quota adds up who may use how much and who does.
//
// A row is one resource of one flavor in one queue. Rows know a parent, so that
// the rows of a cohort can stand above those of its queues: then available and
// potential of a row follow from the rows above it. Today every row is a root.
package quota
