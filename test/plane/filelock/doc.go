// Package filelock locks files between processes; the system drops a lock
// with the process that holds it, however that ends.
package filelock
