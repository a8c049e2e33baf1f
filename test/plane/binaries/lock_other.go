//go:build !unix

package binaries

import "context"

// lockFile does nothing where there are no file locks: two processes may then
// build the same, and the later rename wins.
func lockFile(context.Context, string, func()) (unlock func(), err error) {
	return func() {}, nil
}
