package reason

import (
	"strings"
	"unicode/utf8"
)

// noteBytesMax is the longest note that the API takes in an event.
const noteBytesMax = 1024

// Note is a sentence as an event may carry it: valid UTF-8 of at most 1024
// bytes, cut between two characters. The API refuses anything else, and then
// the event is lost.
func Note(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= noteBytesMax {
		return text
	}
	end := noteBytesMax
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
