package policycheck

import (
	"fmt"
	"strings"
)

// Limits on what is answered. The API server cuts warnings that are longer, and
// nobody reads more problems than fit on a screen.
const (
	warningLength = 250
	warningsMax   = 10
	refusedMax    = 10
)

// warnings are one line each.
func warnings(v verdict) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, line(fmt.Sprintf(format, args...))) }
	if len(v.missing) > 0 {
		add("checked only as far as possible without ConfigMap %s, which is not there yet", strings.Join(v.missing, ", "))
	}
	if v.untested {
		add("not all of its tests and scenarios were run here, since they take too long; the rollout runs them")
	}
	for _, p := range v.elsewhere {
		add("the policy in force stays until this is right, too: %s", p)
	}
	for _, p := range v.doubtful {
		add("%s", p)
	}
	if left := len(out) - warningsMax; left > 0 {
		out = append(out[:warningsMax], fmt.Sprintf("and %d more", left))
	}
	return out
}

// line makes one short line of a text: a warning travels in a header.
func line(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > warningLength {
		text = strings.ToValidUTF8(text[:warningLength-len("…")], "") + "…"
	}
	return strings.ToValidUTF8(text, "?")
}
