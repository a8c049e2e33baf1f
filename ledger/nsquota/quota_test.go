package nsquota_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/nsquota"
)

func TestScopesCoverPods(t *testing.T) {
	plain, full := demand.Terms{}, demand.Terms{PriorityClass: "high", Terminating: true, Compute: true, CrossNamespace: true}
	class := func(operator string, values ...string) []nsquota.Scope {
		return []nsquota.Scope{{Name: "PriorityClass", Operator: operator, Values: values}}
	}
	for name, c := range map[string]struct {
		scopes      []nsquota.Scope
		plain, full bool
	}{
		"none":                 {nil, true, true},
		"Terminating":          {[]nsquota.Scope{{Name: "Terminating"}}, false, true},
		"NotTerminating":       {[]nsquota.Scope{{Name: "NotTerminating"}}, true, false},
		"BestEffort":           {[]nsquota.Scope{{Name: "BestEffort"}}, true, false},
		"NotBestEffort":        {[]nsquota.Scope{{Name: "NotBestEffort"}}, false, true},
		"across namespaces":    {[]nsquota.Scope{{Name: "CrossNamespacePodAffinity"}}, false, true},
		"of volumes":           {[]nsquota.Scope{{Name: "VolumeAttributesClass", Operator: "Exists"}}, false, false},
		"any class":            {class(""), false, true},
		"a class":              {class("Exists"), false, true},
		"no class":             {class("DoesNotExist"), true, false},
		"this class":           {class("In", "low", "high"), false, true},
		"another class":        {class("In", "low"), false, false},
		"not this class":       {class("NotIn", "high"), true, false},
		"what nobody knows":    {class("Near", "high"), false, false},
		"several, all of them": {append(class("In", "high"), nsquota.Scope{Name: "NotTerminating"}), false, false},
	} {
		q := nsquota.Quota{Scopes: c.scopes}
		if got := q.Covers(plain); got != c.plain {
			t.Errorf("%s: a plain pod counts: %v", name, got)
		}
		if got := q.Covers(full); got != c.full {
			t.Errorf("%s: the other pod counts: %v", name, got)
		}
	}
}
