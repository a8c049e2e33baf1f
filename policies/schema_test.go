package policies

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what is generated from the code")

// output is what a policy may define, by the names of its rules.
type output struct {
	Catalog  Catalog  `json:"catalog,omitzero"`
	Classify Verdict  `json:"classify,omitzero"`
	Mutate   Mutation `json:"mutate,omitzero"`
	Deny     []Reason `json:"deny,omitempty"`
	Warn     []Reason `json:"warn,omitempty"`
	Hold     []Reason `json:"hold,omitempty"`
	Protect  []Reason `json:"protect,omitempty"`
}

// dataFile is a data.yaml.
type dataFile struct {
	Holdshort dataRoot `json:"holdshort"`
}

type dataRoot struct {
	Config Config `json:"config"`
}

func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	w := newSchemaWriter(t)
	for name, root := range map[string]reflect.Type{
		"config": reflect.TypeFor[Config](), "input": reflect.TypeFor[Input](), "output": reflect.TypeFor[output](),
		"data": reflect.TypeFor[dataFile](),
	} {
		want := w.document(name, root)
		if *update {
			if err := os.WriteFile("schema/"+name+".json", want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(string(want), string(Schema(name))); diff != "" {
			t.Errorf("schema/%s.json is stale. Try: go test ./policies -update\n(-types +file)\n%s", name, diff)
		}
	}
}

// schemaWriter writes JSON Schemas: the form from the types, the words from the
// comments, the enumerations from the constants.
type schemaWriter struct {
	t       *testing.T
	words   map[string]string   // Type and Type.Field → comment
	enums   map[string][]string // Type → values
	defined map[string]any
}

func newSchemaWriter(t *testing.T) *schemaWriter {
	t.Helper()
	w := &schemaWriter{t: t, words: map[string]string{}, enums: map[string][]string{}}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			if general, ok := decl.(*ast.GenDecl); ok {
				w.read(general)
			}
		}
	}
	return w
}

func (w *schemaWriter) read(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			kind, typed := spec.Type.(*ast.Ident)
			if decl.Tok != token.CONST || !typed {
				continue
			}
			for _, value := range spec.Values {
				if text, err := strconv.Unquote(value.(*ast.BasicLit).Value); err == nil {
					w.enums[kind.Name] = append(w.enums[kind.Name], text)
				}
			}
		case *ast.TypeSpec:
			w.words[spec.Name.Name] = sentence(decl.Doc.Text())
			object, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range object.Fields.List {
				for _, name := range field.Names {
					w.words[spec.Name.Name+"."+name.Name] = sentence(field.Doc.Text() + field.Comment.Text())
				}
			}
		}
	}
}

func sentence(comment string) string { return strings.Join(strings.Fields(comment), " ") }

func (w *schemaWriter) document(name string, root reflect.Type) []byte {
	w.t.Helper()
	w.defined = map[string]any{}
	schema := w.object(root)
	schema["$schema"] = "https://json-schema.org/draft-07/schema#"
	schema["title"] = "holdshort " + name + ", contract " + strconv.Itoa(Contract)
	schema["definitions"] = w.defined
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		w.t.Fatal(err)
	}
	return append(text, '\n')
}

func (w *schemaWriter) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := w.value(field.Type)
		if words := w.words[t.Name()+"."+field.Name]; words != "" {
			// Beside a $ref nothing else counts, so it is wrapped.
			if _, reference := property["$ref"]; reference {
				property = map[string]any{"allOf": []any{property}}
			}
			property["description"] = words
		}
		properties[name] = property
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		slices.Sort(required)
		schema["required"] = required
	}
	return schema
}

func (w *schemaWriter) value(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[Weight]() {
		return map[string]any{"type": "number", "minimum": 0, "maximum": MostWeight}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.value(t.Elem())
	case reflect.Struct:
		return w.reference(t)
	case reflect.Map:
		if t == reflect.TypeFor[Amounts]() {
			return map[string]any{"type": "object", "additionalProperties": amount()}
		}
		return map[string]any{"type": "object", "additionalProperties": w.value(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": w.value(t.Elem())}
	case reflect.String:
		schema := map[string]any{"type": "string"}
		if values := w.enums[t.Name()]; len(values) > 0 {
			schema["enum"] = values
		}
		return schema
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Interface:
		return map[string]any{} // the author's own
	}
	w.t.Fatalf("the contract has a %s", t.Kind())
	return nil
}

// amount is a number or a quantity.
func amount() map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "number"}, map[string]any{"type": "string"}}}
}

// reference defines a type once. Some have a form in data that differs from
// that in Go.
func (w *schemaWriter) reference(t reflect.Type) map[string]any {
	reference := map[string]any{"$ref": "#/definitions/" + t.Name()}
	if _, known := w.defined[t.Name()]; known {
		return reference
	}
	w.defined[t.Name()] = nil // so that it ends where types contain themselves
	var schema map[string]any
	switch t {
	case reflect.TypeFor[OrderKey]():
		schema = amount()
	case reflect.TypeFor[Limit]():
		object := w.object(t)
		for name, property := range object["properties"].(map[string]any) {
			form := amount()
			if words, ok := property.(map[string]any)["description"]; ok {
				form["description"] = words
			}
			object["properties"].(map[string]any)[name] = form
		}
		schema = map[string]any{"anyOf": append(amount()["anyOf"].([]any), object)}
	default:
		schema = w.object(t)
	}
	if words := w.words[t.Name()]; words != "" {
		schema["description"] = words
	}
	w.defined[t.Name()] = schema
	return reference
}
