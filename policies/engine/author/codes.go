package author

import (
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// Code is one that a problem or a warning may have, and what it is about.
type Code struct{ Name, About string }

// Codes are those of holdshort, in the order of the document; those of OPA begin
// with rego_ and eval_.
func Codes() []Code {
	return []Code{
		{engine.CodeScenario, "a scenario: no YAML, an unknown key, a moment that is none, a Job that is not in it"},
		{engine.CodeData, "`data.yaml`: no YAML, an unknown key, a value that does not fit, a queue that names what is not there"},
		{engine.CodeCatalog, "the catalog that the rules make: undefined, in conflict, or not what the contract wants"},
		{engine.CodeContract, "a rule or package that the contract does not have, or has in another form"},
		{engine.CodeReads, "a rule that reads what it does not see, or what is not there"},
		{engine.CodeType, "a value of the wrong type: of a field, in a comparison, given to a built-in"},
		{engine.CodeReason, "a reason's code: one of holdshort's own, or without a domain"},
		{engine.CodeEmpty, "neither data nor rules"},
		{engine.CodeSize, "more than a bundle may have, or nearly"},
		{engine.CodeSlow, "compiling takes too long and was given up"},
		{engine.CodeManifest, "`.manifest`: a Rego version, a contract or roots that do not fit"},
		{engine.CodeRoots, "a ConfigMap that writes what is not its own"},
		{engine.CodeSignature, "no signature where one is wanted, or one that does not hold"},
		{engine.CodeInternal, "a fault of holdshort's own"},
		{engine.CodeMore, "how many problems are left out"},
		{testrun.CodeTest, "a test that fails, or gives no answer"},
		{LintTitle, "a rule of the contract without a title"},
		{LintUntested, "a rule that no test makes true"},
		{LintReason, "a reason whose code no test mentions"},
		{LintTest, "a test in a file of rules, where it does not count"},
		{LintUndefined, "a field without a value for a made-up Job"},
		{LintFails, "rules that fail for a made-up Job"},
		{LintScan, "a search where a lookup by key would do"},
		{LintOverlap, "two flavors that a node can be of at once"},
		{LintResource, "with `--cluster`: a quota of a resource that no node has, or a conversion of one"},
		{LintNodes, "with `--cluster`: a flavor whose labels no node has"},
	}
}
