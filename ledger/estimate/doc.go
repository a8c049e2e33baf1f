// Package estimate says when Jobs that wait will start: a range, and what it is
// told from, or why nobody can know.
//
// It plays the deciding code of the live system forward from what there is now,
// under a clock of its own and several times: once as if every Job ended as early as
// is likely, once as late as it can, and in between. How long Jobs run it takes from
// their limits and from how long others of their queue ran (History). Nobody new
// arrives in it, every pod comes up, and the policy stays what it is.
//
// It is pure: the same input has the same answer. How far it looks is bounded, and
// whoever calls it may end it sooner.
package estimate
