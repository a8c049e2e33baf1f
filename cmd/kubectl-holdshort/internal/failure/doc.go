// Package failure is how the plugin says that it could not answer: what was
// being done, what went wrong, and what the person at the keyboard can try.
package failure
