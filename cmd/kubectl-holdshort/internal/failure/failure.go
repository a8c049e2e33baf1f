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

// Join makes one error of several, nil of none. Each is printed with its own
// advice.
func Join(all []error) error {
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

// Print writes the error as people see it and returns the exit code for it.
func Print(w io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok { // what Join made, not what is in it
		for _, one := range several.Unwrap() {
			Print(w, one)
		}
		return ExitError
	}
	fmt.Fprintf(w, "error: %s\n", err)
	var f *Failure
	if errors.As(err, &f) && f.Try != "" {
		fmt.Fprintf(w, "Try: %s\n", f.Try)
	}
	return ExitError
}
