package render

import (
	"slices"
	"strings"

	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
)

// amounts of a list, devices first since they are what is scarce, pod slots not
// at all since every pod takes one. An empty list is a dash.
func amounts(list resource.List) string {
	names := list.Names()
	slices.SortStableFunc(names, func(a, b string) int { return rankOf(a) - rankOf(b) })
	var parts []string
	for _, name := range names {
		if name != resource.Pods && list[name] != 0 {
			parts = append(parts, reason.Amount(name, list[name])+" "+name)
		}
	}
	if len(parts) == 0 {
		return dash
	}
	return strings.Join(parts, ", ")
}

func rankOf(name string) int {
	if resource.IsDevice(name) {
		return 0
	}
	return 1
}
