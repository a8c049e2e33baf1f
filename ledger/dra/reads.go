package dra

import (
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// reads is what expressions look at of a device besides its driver and whether several
// may have it: attributes and capacities by name. Drivers give each card an id of its
// own, so without this no two cards would be alike, and every expression would have to
// be tried on each of them.
type reads struct {
	attributes []name
	capacities []name
}

// name of an attribute or a capacity, in two parts as expressions have it, and in one.
type name struct {
	domain, id string
	full       resourceapi.QualifiedName
}

func nameIn(domain, id string) name {
	return name{domain, id, resourceapi.QualifiedName(domain + "/" + id)}
}

// find adds what one expression reads. It gives up where the expression does anything
// with the device but read what it names.
func (r *reads) find(compiled cel.CompilationResult) bool {
	parsed, issues := compiled.Environment.Parse(compiled.Expression)
	if issues.Err() != nil {
		return false
	}
	return r.walk(parsed.NativeRep().Expr())
}

func (r *reads) walk(e ast.Expr) bool {
	if r.known(e) {
		return true
	}
	switch e.Kind() {
	case ast.LiteralKind:
		return true
	case ast.IdentKind:
		return e.AsIdent() != "device"
	case ast.SelectKind:
		return r.walk(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		return (!call.IsMemberFunction() || r.walk(call.Target())) && r.walkAll(call.Args())
	case ast.ListKind:
		return r.walkAll(e.AsList().Elements())
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return r.walkAll([]ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()})
	}
	return false
}

func (r *reads) walkAll(list []ast.Expr) bool {
	return !slices.ContainsFunc(list, func(e ast.Expr) bool { return !r.walk(e) })
}

// known is device.driver, device.allowMultipleAllocations, or one attribute or capacity
// of the device by its full name: device.attributes["domain"].id.
func (r *reads) known(e ast.Expr) bool {
	if field, of := fieldOf(e); of != nil && isDevice(of) {
		return field == "driver" || field == "allowMultipleAllocations"
	}
	id, of := fieldOf(e)
	if of == nil {
		return false
	}
	domain, table := fieldOf(of)
	if table == nil {
		return false
	}
	which, of := fieldOf(table)
	if of == nil || !isDevice(of) {
		return false
	}
	switch which {
	case "attributes":
		r.attributes = append(r.attributes, nameIn(domain, id))
	case "capacity":
		r.capacities = append(r.capacities, nameIn(domain, id))
	default:
		return false
	}
	return true
}

func isDevice(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "device" }

// fieldOf takes x.y and x["y"] apart.
func fieldOf(e ast.Expr) (string, ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().FieldName(), e.AsSelect().Operand()
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index || call.Args()[1].Kind() != ast.LiteralKind {
			return "", nil
		}
		if field, text := call.Args()[1].AsLiteral().Value().(string); text {
			return field, call.Args()[0]
		}
	}
	return "", nil
}

func (r *reads) tidy() {
	for _, list := range []*[]name{&r.attributes, &r.capacities} {
		slices.SortFunc(*list, func(a, b name) int {
			return strings.Compare(string(a.full), string(b.full))
		})
		*list = slices.Compact(*list)
	}
}

// of is what is read of one device. A name of the driver's own domain may be written
// with it or without.
func (r *reads) of(b []byte, d *cel.Device) []byte {
	b = append(appendText(b, d.Driver), mark(deref(d.AllowMultipleAllocations)))
	for _, n := range r.attributes {
		for _, key := range n.keys(d.Driver) {
			value, found := d.Attributes[key]
			if b = append(b, mark(found)); found {
				b = appendAttribute(b, &value)
			}
		}
	}
	for _, n := range r.capacities {
		for _, key := range n.keys(d.Driver) {
			value, found := d.Capacity[key]
			if b = append(b, mark(found)); found {
				b = appendText(b, value.Value.String())
			}
		}
	}
	return b
}

func (n name) keys(driver string) [2]resourceapi.QualifiedName {
	if n.domain == driver {
		return [2]resourceapi.QualifiedName{n.full, resourceapi.QualifiedName(n.id)}
	}
	return [2]resourceapi.QualifiedName{n.full, n.full}
}
