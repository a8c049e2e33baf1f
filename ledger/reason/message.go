package reason

import (
	"slices"
	"strings"
	"time"
)

// untilMark stands before the moment at which a policy's hold ends by itself.
const untilMark = " until "

// Line is a reason as it stands on a Job: code, sentence, rule, and until when a
// rule holds it, if that is known.
func (r Reason) Line() string {
	line := string(r.Code) + ": " + r.Message
	if r.RuleAt != "" {
		line += " (" + r.RuleAt + ")"
	}
	if r.Code == HeldByPolicy && r.Until > 0 {
		line += untilMark + time.Unix(0, r.Until).UTC().Format(time.RFC3339)
	}
	return line
}

// SplitUntil parts what Line wrote of a moment from the sentence before it; the
// moment is zero if there is none.
func SplitUntil(sentence string) (string, time.Time) {
	at := strings.LastIndex(sentence, untilMark)
	if at < 0 {
		return sentence, time.Time{}
	}
	until, err := time.Parse(time.RFC3339, sentence[at+len(untilMark):])
	if err != nil {
		return sentence, time.Time{}
	}
	return sentence[:at], until.UTC()
}

// SplitLine parts what Line wrote into the code and the rest. A text that does
// not begin with a code is all rest.
func SplitLine(line string) (Code, string) {
	code, rest, found := strings.Cut(line, ":")
	if !found || code == "" || strings.ContainsFunc(code, notLetter) {
		return "", strings.TrimSpace(line)
	}
	return Code(code), strings.TrimSpace(rest)
}

func notLetter(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }

const advice = "Try: "

// Joined makes one reason of several that have the same code: what is the matter
// with each, and then once what all of them say after it.
func Joined(reasons []Reason) Reason {
	one := reasons[0]
	if len(reasons) == 1 {
		return one
	}
	var matters, more, tries []string
	add := func(to *[]string, text string) {
		if !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	for _, r := range reasons {
		text, try, found := strings.Cut(r.Message, ". "+advice)
		if found {
			add(&tries, try)
		}
		sentences := strings.Split(text, ". ")
		add(&matters, sentences[0])
		for _, s := range sentences[1:] {
			add(&more, s)
		}
	}
	one.Message = strings.Join(append([]string{strings.Join(matters, "; ")}, more...), ". ")
	if len(tries) > 0 {
		one.Message += ". " + advice + strings.Join(tries, "; or ")
	}
	return one
}
