package reason

import "strings"

// Line is a reason as it stands on a Job: code, sentence, rule.
func (r Reason) Line() string {
	line := string(r.Code) + ": " + r.Message
	if r.RuleAt != "" {
		line += " (" + r.RuleAt + ")"
	}
	return line
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
