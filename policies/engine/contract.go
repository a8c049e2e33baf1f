package engine

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// shape is what a field of the contract must be.
type shape int

const (
	shapeObject shape = iota
	shapeString
	shapeNumber
	shapeBool
	shapeOrder   // array of numbers and strings
	shapeStrings // array of strings
	shapeReasons // set of reasons
	shapeTexts   // object of strings
	shapeObjects // array of objects
)

func (s shape) String() string {
	return [...]string{"an object", "a string", "a number", "true or false", "an array of numbers and strings",
		"an array of strings", "a set of reasons", "an object of strings", "an array of objects"}[s]
}

// field is one rule of the contract: what a policy may define, and holdshort asks.
type field struct {
	group    string // catalog, classify, mutate, deny, warn, hold, protect
	name     string // of the rule within the group's package; empty for the sets
	required bool
	shape    shape
}

// path is classify.queue, or deny.
func (f field) path() string {
	if f.name == "" {
		return f.group
	}
	return f.group + "." + f.name
}

func (f field) ref() ast.Ref {
	ref := policyRef()
	for _, part := range strings.Split(f.path(), ".") {
		ref = append(ref, ast.StringTerm(part))
	}
	return ref
}

func policyRef() ast.Ref {
	return ast.Ref{ast.DefaultRootDocument.Copy(), ast.StringTerm("holdshort"), ast.StringTerm("policy")}
}

// The groups: what is asked together, in one query.
const (
	groupCatalog  = "catalog"
	groupClassify = "classify"
	groupMutate   = "mutate"
	groupDeny     = "deny"
	groupWarn     = "warn"
	groupHold     = "hold"
	groupProtect  = "protect"
)

func isGroup(name string) bool {
	switch name {
	case groupCatalog, groupClassify, groupMutate, groupDeny, groupWarn, groupHold, groupProtect:
		return true
	}
	return false
}

func contract() []field {
	return []field{
		{groupCatalog, "queues", true, shapeObject},
		{groupCatalog, "flavors", true, shapeObject},
		{groupCatalog, "cohorts", false, shapeObject},
		{groupCatalog, "fairSharing", false, shapeObject},
		{groupCatalog, "resources", false, shapeObject},
		{groupCatalog, "unreserved", false, shapeString},
		{groupCatalog, "rivals", false, shapeObject},
		{groupCatalog, "kinds", false, shapeObject},
		{groupClassify, "queue", true, shapeString},
		{groupClassify, "priority", true, shapeNumber},
		{groupClassify, "order", false, shapeOrder},
		{groupClassify, "flavors", false, shapeStrings},
		{groupClassify, "user", false, shapeString},
		{groupClassify, "preemptible", false, shapeBool},
		{groupClassify, "minRuntimeSeconds", false, shapeNumber},
		{groupClassify, "maxRuntimeSeconds", false, shapeNumber},
		{groupMutate, "labels", false, shapeTexts},
		{groupMutate, "annotations", false, shapeTexts},
		{groupMutate, "nodeSelector", false, shapeTexts},
		{groupMutate, "tolerations", false, shapeObjects},
		{groupMutate, "activeDeadlineSeconds", false, shapeNumber},
		{groupMutate, "ttlSecondsAfterFinished", false, shapeNumber},
		{groupMutate, "podReplacementPolicy", false, shapeString},
		{groupDeny, "", false, shapeReasons},
		{groupWarn, "", false, shapeReasons},
		{groupHold, "", false, shapeReasons},
		{groupProtect, "", false, shapeReasons},
	}
}

// has tells whether a path leads to the field, or below it.
func (f field) has(path string) bool {
	rest, ok := strings.CutPrefix(path, f.group)
	if ok && f.name != "" {
		if rest, ok = strings.CutPrefix(rest, "."); ok {
			rest, ok = strings.CutPrefix(rest, f.name)
		}
	}
	return ok && (rest == "" || rest[0] == '.')
}

// fieldsOf are the contract's fields of a group.
func fieldsOf(group string) []field {
	return slices.DeleteFunc(contract(), func(f field) bool { return f.group != group })
}

// mayRead are the parts of input that a group sees. The others are never there,
// so a rule that reads one could only ever be undefined.
func mayRead(group string) []string {
	switch group {
	case groupCatalog:
		return []string{"now_ns", "capacity"}
	case groupClassify, groupMutate:
		return []string{"workload", "namespace", "job"}
	case groupDeny, groupWarn:
		return []string{"workload", "namespace", "job", "request", "old"}
	case groupHold:
		return []string{"workload", "verdict", "usage", "capacity", "now_ns"}
	case groupProtect:
		return []string{"victim", "incoming", "now_ns"}
	default:
		return nil
	}
}

// whyNot explains a refusal of mayRead.
func whyNot(group, part string) (message, try string) {
	switch {
	case group == groupCatalog:
		return "the catalog is the same for every workload and sees no input but now_ns and capacity", "data.holdshort.config"
	case (group == groupClassify || group == groupMutate) && (part == "now_ns" || part == "usage" || part == "capacity"):
		return group + " is evaluated once per workload, so it cannot see " + part, "the same in a hold rule"
	case group == groupMutate && part == "request":
		return "mutate is evaluated by the ledger too, which has no request", "input.workload.user"
	case part == "namespace" && group == groupHold:
		return "hold does not see the namespace", "input.workload.namespace for its name; for what else it has, a label that mutate.labels takes from input.namespace"
	}
	return "", ""
}

// inputParts are all parts of input.
func inputParts() []string {
	return []string{"workload", "namespace", "job", "request", "old", "verdict", "usage", "capacity", "now_ns",
		"victim", "incoming"}
}
