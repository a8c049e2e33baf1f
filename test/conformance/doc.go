// Command conformance holds the deciding core to cases with known right answers.
//
//	go run ./test/conformance -dir DIR
//
// plays every case file below DIR, and every file of quota trees, prints a line
// for each that comes out otherwise, and ends with "N passed, M failed". A case
// takes the path of real Jobs: typed catalog and demand, book, decide; what the
// live system does otherwise than the cases is switched off. A case that says
// not what comes out, since elsewhere it never comes to rest, only has to come to
// rest here. With -live every case is played as the live system would, and held to
// what has to be true of any plan.
package main
