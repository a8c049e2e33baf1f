package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
type decoder struct {
	problems []fieldProblem
	// path leads to what is being read. It grows and shrinks in place, since a
	// catalog has thousands of values and a path is told of few.
	path    fieldPath
	structs map[reflect.Type]structType
}

// decode reads v into the pointer into.
func decode(path fieldPath, v ast.Value, into any) []fieldProblem {
	d := &decoder{path: slices.Clone(path)}
	d.value(v, reflect.ValueOf(into).Elem())
	return d.problems
}

func (d *decoder) fail(path fieldPath, try, format string, args ...any) {
	d.problems = append(d.problems, fieldProblem{path, fmt.Sprintf(format, args...), try})
}

// here is where the decoder is, for others to keep.
func (d *decoder) here() fieldPath { return slices.Clone(d.path) }

// below reads what is under a key or index of what is being read.
func (d *decoder) below(segment string, v ast.Value, into reflect.Value) {
	d.path = append(d.path, segment)
	d.value(v, into)
	d.path = d.path[:len(d.path)-1]
}

// special reads types that are written in a way of their own.
func (d *decoder) special(v ast.Value, into any) bool {
	switch target := into.(type) {
	case *policies.Limit:
		d.limit(v, target)
	case *policies.OrderKey:
		d.orderKey(v, target)
	case *map[string]policies.Limit: // most of a catalog, so without reflection
		*target = d.limits(v)
	case *policies.Weight:
		d.weight(v, target)
	case *policies.Amounts:
		*target = d.amounts(v)
	default:
		return false
	}
	return true
}

func (d *decoder) value(v ast.Value, into reflect.Value) {
	if d.special(v, into.Addr().Interface()) {
		return
	}
	switch into.Kind() {
	case reflect.Interface: // the author's own, not ours to judge
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.value(v, into.Elem())
	case reflect.Struct:
		d.object(v, into)
	case reflect.Map:
		d.mapping(v, into)
	case reflect.Slice:
		d.list(v, into)
	case reflect.String:
		if s, ok := v.(ast.String); ok {
			into.SetString(string(s))
		} else {
			d.wrongType("a string", v)
		}
	case reflect.Bool:
		if b, ok := v.(ast.Boolean); ok {
			into.SetBool(bool(b))
		} else {
			d.wrongType("true or false", v)
		}
	case reflect.Int64:
		d.integer(v, into)
	default:
		panic("the contract has a " + into.Kind().String() + " at " + d.path.String())
	}
}

func (d *decoder) object(v ast.Value, into reflect.Value) {
	object, ok := v.(ast.Object)
	if !ok {
		d.wrongType("an object", v)
		return
	}
	known := d.structOf(into.Type())
	seen := make([]bool, into.NumField())
	object.Foreach(func(key, value *ast.Term) {
		name, ok := key.Value.(ast.String)
		field, there := known.fields[string(name)]
		if !ok || !there {
			d.unknownKey(key, known.names)
			return
		}
		seen[field.position] = true
		d.below(string(name), value.Value, into.Field(field.position))
	})
	for _, name := range known.names {
		if field := known.fields[name]; field.required && !seen[field.position] {
			d.fail(d.path.with(name), "", "%s is missing", d.path.with(name))
		}
	}
}

func (d *decoder) structOf(t reflect.Type) structType {
	known, ok := d.structs[t]
	if !ok {
		if d.structs == nil {
			d.structs = map[reflect.Type]structType{}
		}
		known.fields, known.names = structFields(t)
		d.structs[t] = known
	}
	return known
}

func (d *decoder) unknownKey(key *ast.Term, known []string) {
	name := keyText(key)
	try := "one of " + strings.Join(known, ", ")
	if guess := nearest(name, known); guess != "" {
		try = guess
	}
	d.fail(d.path.with(name), try, "%s: unknown key", d.path.with(name))
}

func (d *decoder) mapping(v ast.Value, into reflect.Value) {
	elements := into.Type().Elem()
	d.entries(v, func(size int) {
		into.Set(reflect.MakeMapWithSize(into.Type(), size))
	}, func(name string, value ast.Value) {
		element := reflect.New(elements).Elem()
		d.below(name, value, element)
		into.SetMapIndex(reflect.ValueOf(name), element)
	})
}

// entries are those of an object that is to become a map.
func (d *decoder) entries(v ast.Value, start func(size int), add func(name string, value ast.Value)) {
	object, ok := v.(ast.Object)
	if !ok {
		d.wrongType("an object", v)
		return
	}
	start(object.Len())
	object.Foreach(func(key, value *ast.Term) {
		name, ok := key.Value.(ast.String)
		if !ok {
			d.fail(d.here(), "quote it", "%s: the key %s is not a string", d.path, keyText(key))
			return
		}
		add(string(name), value.Value)
	})
}

func (d *decoder) list(v ast.Value, into reflect.Value) {
	array, ok := v.(*ast.Array)
	if !ok {
		d.wrongType("a list", v)
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), array.Len(), array.Len()))
	for i := range array.Len() {
		d.below(strconv.Itoa(i), array.Elem(i).Value, into.Index(i))
	}
}

func (d *decoder) integer(v ast.Value, into reflect.Value) {
	number, ok := v.(ast.Number)
	if !ok {
		d.wrongType("a number", v)
		return
	}
	n, err := wholeNumber(number)
	if err != nil {
		d.fail(d.here(), "", "%s: %v", d.path, err)
		return
	}
	into.SetInt(n)
}

func (d *decoder) orderKey(v ast.Value, into *policies.OrderKey) {
	switch v := v.(type) {
	case ast.String:
		*into = policies.OrderKey{Text: string(v), IsText: true}
	case ast.Number:
		n, err := wholeNumber(v)
		if err != nil {
			d.fail(d.here(), "", "%s: %v", d.path, err)
		}
		into.Number = n
	default:
		d.wrongType("a number or a string", v)
	}
}

func (d *decoder) weight(v ast.Value, into *policies.Weight) {
	number, ok := v.(ast.Number)
	if !ok {
		d.wrongType("a number", v)
		return
	}
	weight, err := policies.ParseWeight(string(number))
	if err != nil {
		d.fail(d.here(), "", "%s: %v", d.path, err)
	}
	*into = weight
}

func (d *decoder) wrongType(want string, got ast.Value) {
	try := ""
	switch got := got.(type) {
	case ast.String:
		// What is read as a number though it begins like a word is NaN or infinite.
		if n, err := strconv.ParseFloat(string(got), 64); err == nil && want == "a number" && !math.IsNaN(n) && !math.IsInf(n, 0) {
			try = string(got) + " without quotes"
		}
	case ast.Null:
		if want == "an object" {
			try = "{}"
		}
	}
	d.fail(d.here(), try, "%s: want %s, got %s", d.path, want, describe(got))
}

// describe is a value with its type, short enough for a message.
func describe(v ast.Value) string {
	text := shorten(v.String(), 60)
	switch v := v.(type) {
	case ast.Null:
		return "null"
	case ast.String: // YAML has no other way to keep it
		if _, err := strconv.ParseFloat(string(v), 64); errors.Is(err, strconv.ErrRange) {
			return shorten(string(v), 60) + ", which is too large a number"
		}
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

// structType is what a struct of the contract takes: its fields, and their names
// in order.
type structType struct {
	fields map[string]structField
	names  []string
}

type structField struct {
	position int
	required bool
}

// fieldNamed is the field of a struct of the contract that has a name in JSON.
func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name && name != "" && name != "-" {
			return f, true
		}
	}
	return reflect.StructField{}, false
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
