package failure

import (
	"errors"
	"fmt"
	"io"
)

// Exit codes. ExitNo is for commands whose answer can be "no"; explain is not
// one of them, since "it waits, because…" answers its question.
const (
	ExitOK    = 0
	ExitError = 1
	ExitNo    = 2
)

// Failure is an error that a person reads.
type Failure struct {
	Message string
	Try     string // what to do about it, empty if nobody knows
	Cause   error
}

// New makes a failure with advice.
func New(try, format string, args ...any) *Failure {
	err := fmt.Errorf(format, args...)
	return &Failure{Message: err.Error(), Try: try, Cause: errors.Unwrap(err)}
}

func (f *Failure) Error() string { return f.Message }

// Unwrap gives what was underneath.
func (f *Failure) Unwrap() error { return f.Cause }

// Print writes the error as people see it and returns the exit code for it.
func Print(w io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	fmt.Fprintf(w, "error: %s\n", err)
	var f *Failure
	if errors.As(err, &f) && f.Try != "" {
		fmt.Fprintf(w, "Try: %s\n", f.Try)
	}
	return ExitError
}
