// Package docs holds the documents against the code: what is generated from it
// is not stale, links lead somewhere, and the example policy is a good one.
//
//	go test ./test/docs -update
//
// writes the generated parts anew.
package docs
