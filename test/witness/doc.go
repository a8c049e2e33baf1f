// Package witness counts what came of a load on a plane, from the versions of Jobs,
// pods and nodes as the API server tells them, and from nothing that a queue says of
// itself: so it judges any queue alike.
//
// Account is the counting: it knows no client and no clock, and whoever tells it an
// event says when it was. Watch is the shell.
package witness
