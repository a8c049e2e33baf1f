package engine

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/holdshort/holdshort/policies"
)

// groups are asked one query each.
func groups() []string {
	return []string{groupCatalog, groupClassify, groupMutate, groupDeny, groupWarn, groupHold, groupProtect}
}

// prepare readies one query per group and finds out what each of them reads.
func (b *build) prepare(context.Context) []Problem {
	b.store = inmem.NewFromASTObject(b.data)
	b.revision = &Revision{digest: b.bundle.digestOf(b.doc), bundle: b.bundle, options: b.options,
		encoder: newEncoder(), probes: map[string]*probe{}, rules: factsOf(b.compiler), memo: newMemo()}
	var problems []Problem
	for _, group := range groups() {
		reads := readsOf(b.compiler, group)
		problems = append(problems, reads.problems...)
		p, err := b.probe(group, fieldsOf(group), b.store)
		if err != nil {
			return append(problems, Problem{Code: CodeInternal, Message: "preparing " + group + ": " + err.Error()})
		}
		p.seen, p.lent, p.config = reads.input, reads.lent, reads.config
		b.revision.encoder.bind(p.seen, inputOfGroup(group))
		b.revision.probes[group] = p
		if group == groupCatalog {
			b.revision.named = b.namedResources(reads.words)
		}
	}
	return problems
}

// inputOfGroup is the type of what a group is asked about.
func inputOfGroup(group string) reflect.Type {
	if group == groupCatalog {
		return reflect.TypeFor[policies.CatalogInput]()
	}
	return reflect.TypeFor[policies.Input]()
}

func (b *build) probe(group string, fields []field, store storage.Store) (*probe, error) {
	text, alone := b.probeText(fields)
	query, err := newQuery(text, b.compiler, store)
	keys := make([]*ast.Term, len(fields))
	for i, f := range fields {
		keys[i] = ast.StringTerm(f.path())
	}
	return &probe{group: group, fields: fields, alone: alone, keys: keys, query: query, pool: newPool(idleMax)}, err
}

// namedResources are the resources that the policy speaks of: those of its
// quotas, and what looks like one in the rules of the catalog and in custom.
func (b *build) namedResources(words []string) []string {
	named := map[string]bool{}
	for _, queue := range b.config.Queues {
		for _, quota := range queue.Quota {
			for name := range quota {
				named[name] = true
			}
		}
	}
	config, _ := b.configValue()
	if object, ok := config.(map[string]any); ok {
		words = append(words, wordsOf(object["custom"])...)
	}
	for _, word := range words {
		if looksLikeResource(word) {
			named[word] = true
		}
	}
	return slices.Sorted(maps.Keys(named))
}

func looksLikeResource(word string) bool {
	domain, name, found := strings.Cut(word, "/")
	return slices.Contains([]string{"cpu", "memory", "pods", "ephemeral-storage"}, word) ||
		found && strings.Contains(domain, ".") && name != "" && !strings.ContainsAny(word, " :") ||
		strings.HasPrefix(word, "hugepages-")
}

// wordsOf are all keys and texts of a document.
func wordsOf(value any) []string {
	var words []string
	switch value := value.(type) {
	case string:
		words = append(words, value)
	case []any:
		for _, item := range value {
			words = append(words, wordsOf(item)...)
		}
	case map[string]any:
		for key, item := range value {
			words = append(append(words, key), wordsOf(item)...)
		}
	}
	return words
}
