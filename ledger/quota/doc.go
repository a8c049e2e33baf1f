// Package quota is the arithmetic of shares: what each queue may use, what it may
// borrow of its cohorts, and how far each of them is beyond its own share.
//
// Queues and cohorts are the nodes of a tree; for each pair of flavor and
// resource every node has a nominal quota Q, and may have a borrowing limit BL
// and a lending limit LL. The formulas, for one pair:
//
//	Subtree(queue)  = Q
//	Subtree(cohort) = Q + Σ children (Subtree − Local)
//	Local           = max(0, Subtree − LL), 0 without LL: what the parent does not see
//	Usage(cohort)   = Σ children max(0, Usage − Local)
//	Available(root) = Subtree − Usage
//	Available(n)    = max(0, Local − Usage) + min(Available(parent), room to borrow)
//	room to borrow  = Subtree − Local − max(0, Usage − Local) + BL, boundless without BL
//	Potential       = Available of a tree that nobody uses
//
// Amounts are integers that saturate: what is too much to count never fits.
package quota
