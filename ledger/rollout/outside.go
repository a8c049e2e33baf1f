package rollout

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How long text may be that others wrote: a server, a certificate, a bundle.
const (
	hostMax    = 100
	fetchMax   = 600
	problemMax = 2000
)

// outside is text from outside as it may be shown: on one line, without what moves
// a cursor or hides other text, and of about so many bytes at most.
func outside(text string, most int) string {
	var shown strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		piece := text[i : i+size]
		switch {
		case r == utf8.RuneError && size == 1:
			piece = `\x` + strconv.FormatUint(uint64(text[i])|0x100, 16)[1:]
		case !unicode.IsPrint(r):
			piece = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
		}
		if shown.Len()+len(piece) > most {
			shown.WriteString("…")
			break
		}
		shown.WriteString(piece)
		i += size
	}
	return shown.String()
}

// plainly is an error that says no more than may be shown.
type plainly struct{ error }

func (p plainly) Error() string { return outside(p.error.Error(), fetchMax) }

func (p plainly) Unwrap() error { return p.error }
