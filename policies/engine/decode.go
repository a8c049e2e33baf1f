package engine

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdshort/holdshort/policies"
)

// decoder reads values of a policy into the contract's types, strictly: an
// unknown key, a missing one and a wrong type are problems, all of them found in
// one go. A struct field without omitempty or omitzero is required.
type decoder struct{ problems []fieldProblem }

// decode reads v into the pointer into.
func decode(path fieldPath, v ast.Value, into any) []fieldProblem {
	d := &decoder{}
	d.value(path, v, reflect.ValueOf(into).Elem())
	return d.problems
}

func (d *decoder) fail(path fieldPath, try, format string, args ...any) {
	d.problems = append(d.problems, fieldProblem{path, fmt.Sprintf(format, args...), try})
}

func (d *decoder) value(path fieldPath, v ast.Value, into reflect.Value) {
	switch target := into.Addr().Interface().(type) {
	case *policies.Limit:
		d.limit(path, v, target)
		return
	case *policies.OrderKey:
		d.orderKey(path, v, target)
		return
	}
	switch into.Kind() {
	case reflect.Interface: // the author's own, not ours to judge
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.value(path, v, into.Elem())
	case reflect.Struct:
		d.object(path, v, into)
	case reflect.Map:
		d.mapping(path, v, into)
	case reflect.Slice:
		d.list(path, v, into)
	case reflect.String:
		if s, ok := v.(ast.String); ok {
			into.SetString(string(s))
		} else {
			d.wrongType(path, "a string", v)
		}
	case reflect.Bool:
		if b, ok := v.(ast.Boolean); ok {
			into.SetBool(bool(b))
		} else {
			d.wrongType(path, "true or false", v)
		}
	case reflect.Int64:
		d.integer(path, v, into)
	default:
		panic("the contract has a " + into.Kind().String() + " at " + path.String())
	}
}

func (d *decoder) object(path fieldPath, v ast.Value, into reflect.Value) {
	object, ok := v.(ast.Object)
	if !ok {
		d.wrongType(path, "an object", v)
		return
	}
	fields, names := structFields(into.Type())
	seen := map[string]bool{}
	object.Foreach(func(key, value *ast.Term) {
		name, ok := key.Value.(ast.String)
		index, known := fields[string(name)]
		if !ok || !known {
			d.unknownKey(path, key, names)
			return
		}
		seen[string(name)] = true
		d.value(path.with(string(name)), value.Value, into.Field(index.position))
	})
	for _, name := range names {
		if fields[name].required && !seen[name] {
			d.fail(path, "", "%s is missing", path.with(name))
		}
	}
}

func (d *decoder) unknownKey(path fieldPath, key *ast.Term, known []string) {
	name := keyText(key)
	try := "one of " + strings.Join(known, ", ")
	if guess := nearest(name, known); guess != "" {
		try = guess
	}
	d.fail(path.with(name), try, "%s: unknown key", path.with(name))
}

func (d *decoder) mapping(path fieldPath, v ast.Value, into reflect.Value) {
	object, ok := v.(ast.Object)
	if !ok {
		d.wrongType(path, "an object", v)
		return
	}
	into.Set(reflect.MakeMapWithSize(into.Type(), object.Len()))
	object.Foreach(func(key, value *ast.Term) {
		name, ok := key.Value.(ast.String)
		if !ok {
			d.fail(path, "quote it", "%s: the key %s is not a string", path, keyText(key))
			return
		}
		element := reflect.New(into.Type().Elem()).Elem()
		d.value(path.with(string(name)), value.Value, element)
		into.SetMapIndex(reflect.ValueOf(string(name)), element)
	})
}

func (d *decoder) list(path fieldPath, v ast.Value, into reflect.Value) {
	array, ok := v.(*ast.Array)
	if !ok {
		d.wrongType(path, "a list", v)
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), array.Len(), array.Len()))
	for i := range array.Len() {
		d.value(path.at(i), array.Elem(i).Value, into.Index(i))
	}
}

func (d *decoder) integer(path fieldPath, v ast.Value, into reflect.Value) {
	number, ok := v.(ast.Number)
	if !ok {
		d.wrongType(path, "a number", v)
		return
	}
	n, err := wholeNumber(number)
	if err != nil {
		d.fail(path, "", "%s: %v", path, err)
		return
	}
	into.SetInt(n)
}

func (d *decoder) orderKey(path fieldPath, v ast.Value, into *policies.OrderKey) {
	switch v := v.(type) {
	case ast.String:
		*into = policies.OrderKey{Text: string(v), IsText: true}
	case ast.Number:
		n, err := wholeNumber(v)
		if err != nil {
			d.fail(path, "", "%s: %v", path, err)
		}
		into.Number = n
	default:
		d.wrongType(path, "a number or a string", v)
	}
}

func (d *decoder) wrongType(path fieldPath, want string, got ast.Value) {
	try := ""
	switch got := got.(type) {
	case ast.String:
		if _, err := strconv.ParseFloat(string(got), 64); err == nil && want == "a number" {
			try = string(got) + " without quotes"
		}
	case ast.Null:
		if want == "an object" {
			try = "{}"
		}
	}
	d.fail(path, try, "%s: want %s, got %s", path, want, describe(got))
}

// describe is a value with its type, short enough for a message.
func describe(v ast.Value) string {
	text := shorten(v.String(), 60)
	if _, null := v.(ast.Null); null {
		return "null"
	}
	return "the " + ast.ValueName(v) + " " + text
}

func keyText(key *ast.Term) string {
	if s, ok := key.Value.(ast.String); ok {
		return string(s)
	}
	return key.Value.String()
}

// wholeNumber is exact: neither fractions nor what an int64 cannot hold.
func wholeNumber(number ast.Number) (int64, error) {
	if n, err := json.Number(number).Int64(); err == nil {
		return n, nil
	}
	exact, ok := new(big.Rat).SetString(boundedNumber(number))
	if !ok {
		return 0, fmt.Errorf("%s is more than can be counted", number)
	}
	if !exact.IsInt() {
		return 0, fmt.Errorf("want a whole number, got %s", number)
	}
	if !exact.Num().IsInt64() {
		return 0, fmt.Errorf("%s is more than can be counted", number)
	}
	return exact.Num().Int64(), nil
}

// boundedNumber is empty for exponents whose expansion would fill the memory.
func boundedNumber(number ast.Number) string {
	text := string(number)
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		if exponent, err := strconv.Atoi(text[at+1:]); err != nil || exponent > 30 || exponent < -30 {
			return ""
		}
	}
	return text
}

type structField struct {
	position int
	required bool
}

func structFields(t reflect.Type) (map[string]structField, []string) {
	fields, names := map[string]structField{}, []string{}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		fields[name] = structField{position: i, required: !strings.Contains(options, "omit")}
		names = append(names, name)
	}
	slices.Sort(names)
	return fields, names
}
