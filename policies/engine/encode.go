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

// input is what the view sees of in.
func (e *encoder) input(in *policies.Input, seen *view) (ast.Value, error) {
	term, err := e.term(reflect.ValueOf(in).Elem(), seen)
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
		return e.mapping(v)
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

func (e *encoder) mapping(v reflect.Value) (*ast.Term, error) {
	// The common maps first: reflection over them is the greater part of the cost.
	switch m := v.Interface().(type) {
	case map[string]string:
		object := ast.NewObjectWithCapacity(len(m))
		for key, value := range m {
			object.Insert(ast.StringTerm(key), ast.StringTerm(value))
		}
		return ast.NewTerm(object), nil
	case map[string]any: // the raw Job
		value, err := ast.InterfaceToValue(m)
		if err != nil {
			return nil, err
		}
		return ast.NewTerm(value), nil
	}
	object := ast.NewObjectWithCapacity(v.Len())
	for _, key := range v.MapKeys() {
		value, err := e.term(v.MapIndex(key), e.whole)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		object.Insert(ast.StringTerm(key.String()), value)
	}
	return ast.NewTerm(object), nil
}

func (e *encoder) array(v reflect.Value) (*ast.Term, error) {
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
