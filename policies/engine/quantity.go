package engine

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdshort/holdshort/policies"
)

// limits reads the quotas of a flavor by resource.
func (d *decoder) limits(v ast.Value) (limits map[string]policies.Limit) {
	d.entries(v, func(size int) {
		limits = make(map[string]policies.Limit, size)
	}, func(name string, value ast.Value) {
		var limit policies.Limit
		d.path = append(d.path, name)
		d.limit(value, &limit)
		d.path = d.path[:len(d.path)-1]
		limits[name] = limit
	})
	return limits
}

// limit reads one quota: a number, a Kubernetes quantity, or {nominal: …, …}. The
// last part of the path is the resource, which says what the unit is.
func (d *decoder) limit(v ast.Value, into *policies.Limit) {
	name := d.path[len(d.path)-1]
	object, ok := v.(ast.Object)
	if !ok {
		into.Nominal = d.amount(name, v)
		return
	}
	seen := map[string]int64{}
	object.Foreach(func(key, value *ast.Term) {
		switch part := keyText(key); part {
		case "nominal", "borrowingLimit", "lendingLimit":
			d.path = append(d.path, part)
			seen[part] = d.amount(name, value.Value)
			d.path = d.path[:len(d.path)-1]
		default:
			d.unknownKey(key, []string{"borrowingLimit", "lendingLimit", "nominal"})
		}
	})
	nominal, there := seen["nominal"]
	if !there {
		d.fail(d.here(), "", "%s is missing", d.path.with("nominal"))
	}
	into.Nominal = nominal
	into.BorrowingLimit = ifThere(seen, "borrowingLimit")
	into.LendingLimit = ifThere(seen, "lendingLimit")
}

func ifThere(amounts map[string]int64, name string) *int64 {
	amount, there := amounts[name]
	if !there {
		return nil
	}
	return &amount
}

func (d *decoder) amount(name string, v ast.Value) int64 {
	var text string
	switch v := v.(type) {
	case ast.Number:
		text = string(v)
	case ast.String:
		text = string(v)
	default:
		d.wrongType(`an amount such as 4 or "64Gi"`, v)
		return 0
	}
	n, err := parseAmount(name, text)
	if err != nil {
		d.fail(d.here(), "", "%s: %v", d.path, err)
	}
	return n
}

// boundedAmount is empty for exponents that would be written out: one of a billion
// takes minutes, which nothing can end. E and Ei are units.
func boundedAmount(text string) string {
	if strings.HasSuffix(text, "E") || strings.HasSuffix(text, "Ei") {
		return text
	}
	return boundedNumber(ast.Number(text))
}

// parseAmount is exact: what is finer than the resource's unit is refused
// rather than rounded, since a quota that isn't what was written is no quota.
func parseAmount(name, text string) (int64, error) {
	if len(text) > 64 {
		return 0, fmt.Errorf("%.20s… is not an amount", text)
	}
	if boundedAmount(text) == "" {
		return 0, fmt.Errorf("%s is more than can be counted, or less", text)
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not an amount such as 4 or \"64Gi\"", text)
	}
	if q.Sign() < 0 {
		return 0, fmt.Errorf("%s is negative. Try: 0 or more", text)
	}
	n, err := policies.Amount(name, q)
	if err != nil {
		return 0, fmt.Errorf("%s is more than can be counted", text)
	}
	back, unit := resource.NewQuantity(n, resource.DecimalSI), "whole units"
	if name == "cpu" {
		back, unit = resource.NewMilliQuantity(n, resource.DecimalSI), "thousandths of a core"
	}
	if q.Cmp(*back) != 0 {
		return 0, fmt.Errorf("%s: %s is counted in %s", text, name, unit)
	}
	return n, nil
}
