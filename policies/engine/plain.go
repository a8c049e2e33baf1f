package engine

import (
	"strconv"
	"strings"
	"unicode"
)

// mostReason is how long a text of a reason may be: it goes into annotations,
// events and answers of the API server.
const mostReason = 1024

// plainText is a rule's text as it may be shown in a terminal: what has no shape of
// its own, such as escape sequences and changes of direction, is written out.
func plainText(text string) string {
	cut := shorten(text, mostReason)
	if !strings.ContainsFunc(cut, shapeless) {
		return cut
	}
	var out strings.Builder
	for _, r := range cut {
		if shapeless(r) {
			out.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			out.WriteRune(r)
		}
	}
	return shorten(out.String(), mostReason)
}

func shapeless(r rune) bool { return !unicode.IsGraphic(r) }
