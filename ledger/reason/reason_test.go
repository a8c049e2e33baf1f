package reason_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/ledger/reason"
)

func TestCatalogueHasEveryCodeOnceAndInGroups(t *testing.T) {
	declared := map[string]bool{}
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			declared[spec.Names[0].Name] = true
		}
		return true
	})
	groups := []reason.Group{reason.GroupSystem, reason.GroupHeld, reason.GroupNeedsUser, reason.GroupBetween,
		reason.GroupShare, reason.GroupMachines, reason.GroupTurn}
	at := 0
	for _, e := range reason.Catalogue() {
		if !declared[string(e.Code)] {
			t.Errorf("%s: not a declared code, or twice in the catalogue", e.Code)
		}
		delete(declared, string(e.Code))
		for at < len(groups) && groups[at] != e.Group {
			at++
		}
		if at == len(groups) {
			t.Fatalf("%s: group %q is not in its place", e.Code, e.Group)
		}
		if e.Title == "" || !strings.HasSuffix(e.Advice, ".") {
			t.Errorf("%s: needs a title and a sentence of advice", e.Code)
		}
	}
	if len(declared) > 0 {
		t.Errorf("not in the catalogue: %v", declared)
	}
}

func TestMainIsOfTheFirstGroupThatHasOne(t *testing.T) {
	quota, other := reason.Reason{Code: reason.WaitingForQuota, Message: "a"}, reason.Reason{Code: reason.WaitingForQuota, Message: "b"}
	machines, held := reason.Reason{Code: reason.Fragmented}, reason.Reason{Code: reason.HeldByOwner}
	main, others := reason.Main([]reason.Reason{machines, quota, quota, other, held})
	if diff := cmp.Diff(held, main); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]reason.Reason{quota, other, machines}, others); diff != "" {
		t.Error(diff)
	}
	if main, others := reason.Main(nil); main.Code != "" || others != nil {
		t.Errorf("nothing found is no reason: %v %v", main, others)
	}
}

func TestUnknownCodeIsForTheSystem(t *testing.T) {
	if got := reason.Of("Newer").Group; got != reason.GroupSystem {
		t.Errorf("group %q", got)
	}
}

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		resource string
		n        int64
		want     string
	}{
		{"nvidia.com/gpu", 4, "4"},
		{"cpu", 3000, "3"}, {"cpu", 2500, "2500m"}, {"cpu", 0, "0"},
		{"memory", 8 << 30, "8Gi"}, {"memory", 1536 << 20, "1536Mi"}, {"memory", 0, "0"},
		{"memory", 62<<30 + 900<<20, "62.8Gi"}, {"memory", 100<<20 + 1, "100Mi"}, {"memory", 4096, "4Ki"}, {"memory", 1001, "1001"},
		{"ephemeral-storage", 1 << 30, "1Gi"}, {"hugepages-2Mi", 2 << 20, "2Mi"},
		{"cpu", math.MaxInt64, "more than can be counted"},
	} {
		if got := reason.Amount(c.resource, c.n); got != c.want {
			t.Errorf("%s %d: %q, want %q", c.resource, c.n, got, c.want)
		}
	}
}
