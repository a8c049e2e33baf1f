package failure

import (
	"bytes"
	"errors"
	"testing"
)

func TestPrint(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
		code int
	}{
		"nothing wrong":              {Join(nil), "", ExitOK},
		"an error without advice":    {errors.New("a"), "error: a\n", ExitError},
		"one with advice":            {Join([]error{New("this", "a")}), "error: a\nTry: this\n", ExitError},
		"several, each with its own": {Join([]error{New("this", "a"), New("that", "b")}), "error: a\nTry: this\nerror: b\nTry: that\n", ExitError},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if code := Print(&out, test.err); code != test.code || out.String() != test.want {
				t.Errorf("%d, %q; want %d, %q", code, out.String(), test.code, test.want)
			}
		})
	}
}
