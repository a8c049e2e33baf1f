package engine

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// encoder builds a policy's input straight from the Go values: a detour over
// JSON would cost more than the evaluation.
type encoder struct {
	fields map[reflect.Type][]inputField
	whole  *view // below maps and lists all is built
}

// inputField is one field of a struct of the contract. A field with omitempty
// is absent while it is zero; all others are always there, so that rules never
// meet null.
type inputField struct {
	name     string
	key      *ast.Term
	position int
	omit     bool
}

func newEncoder() *encoder {
	e := &encoder{fields: map[reflect.Type][]inputField{}, whole: &view{all: true}}
	e.learn(reflect.TypeFor[policies.Input]())
	e.learn(reflect.TypeFor[policies.CatalogInput]())
	return e
}

func (e *encoder) learn(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		e.learn(t.Elem())
	case reflect.Struct:
		if _, known := e.fields[t]; known {
			return
		}
		fields := make([]inputField, 0, t.NumField())
		for i := range t.NumField() {
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			fields = append(fields, inputField{name, ast.StringTerm(name), i, strings.Contains(options, "omit")})
		}
		e.fields[t] = fields
		for i := range t.NumField() {
			e.learn(t.Field(i).Type)
		}
	}
}

// value is what the view sees of the document that a pointer leads to.
func (e *encoder) value(document any, seen *view) (ast.Value, error) {
	term, err := e.term(reflect.ValueOf(document).Elem(), seen)
	if err != nil {
		return nil, err
	}
	return term.Value, nil
}

func (e *encoder) term(v reflect.Value, seen *view) (*ast.Term, error) {
	switch v.Kind() {
	case reflect.Pointer:
		return e.term(v.Elem(), seen)
	case reflect.Struct:
		return e.object(v, seen)
	case reflect.Map:
		return e.mapping(v, seen)
	case reflect.Slice:
		return e.array(v)
	case reflect.String:
		return ast.InternedTerm(v.String()), nil
	case reflect.Int64:
		return ast.InternedTerm(int(v.Int())), nil
	case reflect.Bool:
		return ast.InternedTerm(v.Bool()), nil
	default:
		return nil, fmt.Errorf("the contract's input has a %s", v.Kind())
	}
}

func (e *encoder) object(v reflect.Value, seen *view) (*ast.Term, error) {
	fields := e.fields[v.Type()]
	object := ast.NewObjectWithCapacity(len(fields))
	for i := range fields {
		f := &fields[i]
		part := seen.part(f.name)
		if part == nil || f.omit && v.Field(f.position).IsZero() {
			continue
		}
		value, err := e.term(v.Field(f.position), part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		object.Insert(f.key, value)
	}
	return ast.NewTerm(object), nil
}

// mapping builds the keys that the view sees, or all.
func (e *encoder) mapping(v reflect.Value, seen *view) (*ast.Term, error) {
	// The common maps first: reflection over them is the greater part of the cost.
	switch m := v.Interface().(type) {
	case map[string]string:
		object := ast.NewObjectWithCapacity(len(m))
		for key, value := range m {
			if seen.part(key) != nil {
				object.Insert(ast.StringTerm(key), ast.StringTerm(value))
			}
		}
		return ast.NewTerm(object), nil
	case map[string]any: // the raw Job
		value, err := ast.InterfaceToValue(pruned(m, seen))
		if err != nil {
			return nil, err
		}
		return ast.NewTerm(value), nil
	}
	object := ast.NewObjectWithCapacity(v.Len())
	for _, key := range v.MapKeys() {
		part := seen.part(key.String())
		if part == nil {
			continue
		}
		value, err := e.term(v.MapIndex(key), part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		object.Insert(ast.StringTerm(key.String()), value)
	}
	return ast.NewTerm(object), nil
}

// pruned is what the view sees of a plain object.
func pruned(object map[string]any, seen *view) map[string]any {
	if seen.all {
		return object
	}
	some := make(map[string]any, len(seen.parts))
	for name, part := range seen.parts {
		value, there := object[name]
		if below, ok := value.(map[string]any); ok {
			value = pruned(below, part)
		}
		if there {
			some[name] = value
		}
	}
	return some
}

func (e *encoder) array(v reflect.Value) (*ast.Term, error) {
	if order, ok := v.Interface().([]policies.OrderKey); ok {
		return orderTerm(order), nil
	}
	terms := make([]*ast.Term, v.Len())
	for i := range terms {
		term, err := e.term(v.Index(i), e.whole)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		terms[i] = term
	}
	return ast.NewTerm(ast.NewArray(terms...)), nil
}

// orderTerm is an order as classify said it: numbers and strings.
func orderTerm(order []policies.OrderKey) *ast.Term {
	terms := make([]*ast.Term, len(order))
	for i, key := range order {
		terms[i] = ast.InternedTerm(int(key.Number))
		if key.IsText {
			terms[i] = ast.StringTerm(key.Text)
		}
	}
	return ast.NewTerm(ast.NewArray(terms...))
}
