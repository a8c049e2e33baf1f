package policies_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

// TestTheCodesOfTheLedgerAreItsOwn: the contract may not import the ledger, so it
// has the names once more.
func TestTheCodesOfTheLedgerAreItsOwn(t *testing.T) {
	for _, entry := range reason.Catalogue() {
		if code := string(entry.Code); !policies.OwnReason(code) || policies.NamespacedReason(code) {
			t.Errorf("a policy may use %s, which is the ledger's. Try: add it to OwnReason", code)
		}
	}
	for code, namespaced := range map[string]bool{"team.example/Freeze": true, "Freeze": false, "/Freeze": false, "team.example/": false, "": false} {
		if policies.OwnReason(code) || policies.NamespacedReason(code) != namespaced {
			t.Errorf("%q: ours %v, with a namespace %v; want false and %v", code, policies.OwnReason(code), policies.NamespacedReason(code), namespaced)
		}
	}
}
