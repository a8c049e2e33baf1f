package setting

import (
	"os"
	"strconv"
	"testing"
)

// Number is the value of a variable, or otherwise if it is empty. What is no number, or is
// below the least, fails the test.
func Number(t testing.TB, name string, least, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < least {
		t.Fatalf("%s=%q. Try: a number from %d", name, text, least)
	}
	return n
}
