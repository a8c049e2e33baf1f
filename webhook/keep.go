package webhook

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
)

// keeper restores what mutate wrote into a Job that runs, wherever an update changes
// it. It remembers what somebody meant to change: a manifest that is applied again
// and says what it always said is not worth a warning.
type keeper struct {
	doc, oldDoc *document
	meant       []string
}

func keepMutated(doc, oldDoc *document, m *demand.Mutated) []string {
	k := &keeper{doc: doc, oldDoc: oldDoc}
	k.number(m.ActiveDeadlineSeconds, true, "spec", "activeDeadlineSeconds")
	k.number(m.TTLSecondsAfterFinished, false, "spec", "ttlSecondsAfterFinished")
	k.texts("label", m.Labels, "metadata", "labels")
	k.texts("annotation", m.Annotations, "metadata", "annotations")
	if len(k.meant) == 0 {
		return nil
	}
	return []string{warning("the policy set this, and it stays while the Job runs: " + strings.Join(k.meant, ", ") +
		"; annotation " + policies.AnnotationMutated + " has all that it set")}
}

// number keeps a duration. A shorter one takes nothing from what the policy wants
// of a deadline, and passes, unless it is just what the manifest has said all along;
// after that it is the longest: a Job that runs gets no more time.
func (k *keeper) number(c *demand.Change[int64], shorter bool, path ...string) {
	if c == nil {
		return
	}
	now, there := k.doc.number(path...)
	before, was := k.oldDoc.number(path...)
	stays := c.To
	if shorter && was {
		stays = min(stays, before)
	}
	written := there && c.From != nil && now == *c.From
	switch {
	case there == was && now == before, there && now == stays, shorter && there && now < stays && !written:
		return
	}
	k.doc.set(number(stays), path...)
	if written {
		return
	}
	what := path[len(path)-1] + " " + number(stays).String()
	if shorter {
		what += " (only a shorter one is taken)"
	}
	k.meant = append(k.meant, what)
}

func (k *keeper) texts(what string, changes map[string]demand.Change[string], path ...string) {
	now, before := k.doc.strings(path...), k.oldDoc.strings(path...)
	for _, key := range sortedKeys(changes) {
		c := changes[key]
		value, there := now[key]
		if stored, was := before[key]; there == was && value == stored || there && value == c.To {
			continue
		}
		k.doc.set(c.To, append(slices.Clone(path), key)...)
		if !there || c.From == nil || value != *c.From {
			k.meant = append(k.meant, what+" "+key)
		}
	}
}

// number at a path, as the API server writes them: whole ones.
func (d *document) number(path ...string) (int64, bool) {
	n, ok := d.at(path...).(json.Number)
	if !ok {
		return 0, false
	}
	whole, err := n.Int64()
	return whole, err == nil
}
