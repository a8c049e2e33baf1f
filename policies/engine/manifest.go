package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/policies"
)

// Files with a meaning of their own, at the top of a bundle.
const (
	manifestName   = ".manifest"
	signaturesName = ".signatures.json"
	patchName      = "patch.json"
)

const manifestExample = `{"revision": "1", "roots": ["holdshort"], "rego_version": 1, "metadata": {"holdshort": {"contract": 1}}}`

// regoVersion is the version of Rego that modules are parsed as.
const regoVersion = 1

// manifest is what the engine reads of OPA's .manifest. It is OPA's file, so
// keys that are not ours may stand in it.
type manifest struct {
	Revision         string            `json:"revision"`
	Roots            *[]string         `json:"roots"`
	RegoVersion      *int              `json:"rego_version"`
	FileRegoVersions map[string]int    `json:"file_rego_versions"`
	Wasm             []json.RawMessage `json:"wasm"`
	Metadata         struct {
		Holdshort struct {
			Contract *int `json:"contract"`
		} `json:"holdshort"`
	} `json:"metadata"`
}

// Revision is what the bundle's .manifest calls this version of it; empty if it
// has no manifest or no name.
func (b Bundle) Revision() string {
	m, _, err := b.manifest()
	if err != nil {
		return ""
	}
	return shorten(strings.ToValidUTF8(m.Revision, ""), archiveNameMax)
}

func (b Bundle) manifest() (m manifest, there bool, err error) {
	text, there := b.Files[manifestName]
	if !there {
		return m, false, nil
	}
	return m, true, unmarshalOnce(text, &m)
}

// isDelta: the bundle is a change to another one. Such a bundle cannot be signed
// and means nothing by itself.
func (b Bundle) isDelta() bool { return b.Files[patchName] != nil }

// checkManifest holds a bundle against what its manifest says.
func checkManifest(b Bundle) []Problem {
	if b.isDelta() {
		return []Problem{{File: patchName, Code: CodeManifest, Message: "this is a delta bundle, and only whole ones are taken",
			Try: "have the server give snapshots"}}
	}
	m, there, err := b.manifest()
	if !there {
		return nil
	}
	bad := func(message, try string) Problem {
		return Problem{File: manifestName, Code: CodeManifest, Message: message, Try: try}
	}
	if err != nil {
		return []Problem{bad("not a manifest: "+err.Error(), manifestExample)}
	}
	problems := m.versions(bad)
	if len(m.Wasm) > 0 {
		problems = append(problems, bad("compiled rules (wasm) are not supported", "opa build without -t wasm"))
	}
	roots, err := m.roots()
	if err != nil {
		return append(problems, bad(err.Error(), `"roots": ["holdshort"]`))
	}
	return append(problems, outside(b, "", roots, "the roots in "+manifestName, func(fieldPath) string { return "" })...)
}

func (m manifest) versions(bad func(message, try string) Problem) []Problem {
	var problems []Problem
	if m.RegoVersion != nil && *m.RegoVersion != regoVersion {
		problems = append(problems, bad(fmt.Sprintf("rego_version is %d", *m.RegoVersion), `"rego_version": 1`))
	}
	for _, file := range slices.Sorted(maps.Keys(m.FileRegoVersions)) {
		if version := m.FileRegoVersions[file]; version != regoVersion {
			problems = append(problems, bad(fmt.Sprintf("file_rego_versions has %d for %s", version, file), "Rego version 1 for all files"))
		}
	}
	switch contract := m.Metadata.Holdshort.Contract; {
	case contract == nil:
		problems = append(problems, bad("it does not say which contract the bundle is written for", `"metadata": {"holdshort": {"contract": 1}}`))
	case *contract != policies.Contract:
		problems = append(problems, bad(fmt.Sprintf("the bundle is written for contract %d", *contract),
			fmt.Sprintf("a bundle for contract %d, which is what this build speaks", policies.Contract)))
	}
	return problems
}

// roots are the manifest's, as paths. Absent ones mean everything, as in OPA.
func (m manifest) roots() (Roots, error) {
	if m.Roots == nil || len(*m.Roots) == 0 {
		return nil, errors.New("without roots the bundle would own all data, not only holdshort")
	}
	var roots Roots
	for _, text := range *m.Roots {
		root := fieldPath(strings.Split(strings.Trim(text, "/"), "/"))
		if root[0] != "holdshort" {
			return nil, fmt.Errorf("the root %q is outside of holdshort", text)
		}
		roots = append(roots, root)
	}
	return roots, nil
}
