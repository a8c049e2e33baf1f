// Package requests holds package intake against a real API server and Job
// controller: whatever pod they make of a template, the ledger must have
// foreseen. Its tests need the plane.
package requests
