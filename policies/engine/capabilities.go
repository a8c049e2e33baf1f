package engine

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// capabilities are the built-ins that a policy may call: those whose answer
// depends on nothing but their arguments. Anything else would make decisions
// that cannot be replayed, or reach out of the process.
func capabilities() *ast.Capabilities {
	caps := ast.CapabilitiesForThisVersion()
	caps.Builtins = slices.DeleteFunc(caps.Builtins, isImpure)
	caps.AllowNet = []string{} // nil would mean every host
	return caps
}

// time.now_ns is constant within one evaluation, which is all that OPA asks of
// a deterministic built-in; ours must also give the same answer tomorrow.
func isImpure(b *ast.Builtin) bool {
	return b.IsNondeterministic() || b.Name == "time.now_ns" || b.Name == shiftLeft
}

// shiftLeft makes a number of any size in one call, which nothing can stop.
const shiftLeft = "bits.lsh"

// impureAdvice says what to do instead of calling a built-in that is left out.
func impureAdvice(message string) string {
	name, found := strings.CutPrefix(message, "undefined function ")
	if !found {
		return ""
	}
	for _, b := range ast.CapabilitiesForThisVersion().Builtins {
		switch {
		case b.Name != name || !isImpure(b):
		case name == "time.now_ns":
			return "input.now_ns"
		case name == shiftLeft:
			return "multiply"
		default:
			return "facts in holdshort.config.custom; a policy cannot reach network, environment or randomness"
		}
	}
	if strings.HasPrefix(name, "data.holdshort.lib.") {
		return "a function that holdshort.lib has"
	}
	return ""
}
