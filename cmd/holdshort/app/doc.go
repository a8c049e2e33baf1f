// Package app builds the manager from its configuration and runs it, in the
// cluster or outside. Tests run it in-process or as the command.
package app
