package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	batchv1 "k8s.io/api/batch/v1"
)

// document is a raw object that is being patched: each change is made to the
// tree and written down as an operation, and what changes nothing is left out.
type document struct {
	root map[string]any
	ops  []jsonpatch.Operation
}

func parseDocument(raw []byte) (*document, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // an int64 must not pass through a float
	var root map[string]any
	if err := decoder.Decode(&root); err != nil {
		return nil, fmt.Errorf("reading the raw object: %w", err)
	}
	return &document{root: root}, nil
}

// at returns the value at a path, nil if there is none.
func (d *document) at(path ...string) any {
	var value any = d.root
	for _, key := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[key]
	}
	return value
}

// strings returns the text values of the object at a path.
func (d *document) strings(path ...string) map[string]string {
	object, _ := d.at(path...).(map[string]any)
	out := make(map[string]string, len(object))
	for key, value := range object {
		if text, ok := value.(string); ok {
			out[key] = text
		}
	}
	return out
}

// set writes a value; parents that are missing come with it.
func (d *document) set(value any, path ...string) {
	parent := d.root
	for i, key := range path[:len(path)-1] {
		child, ok := parent[key].(map[string]any)
		if !ok {
			nested := nest(value, path[i+1:])
			parent[key] = nested
			d.ops = append(d.ops, jsonpatch.NewOperation("add", pointer(path[:i+1]), nested))
			return
		}
		parent = child
	}
	last := path[len(path)-1]
	old, there := parent[last]
	switch {
	case there && reflect.DeepEqual(old, value):
		return
	case there:
		d.ops = append(d.ops, jsonpatch.NewOperation("replace", pointer(path), value))
	default:
		d.ops = append(d.ops, jsonpatch.NewOperation("add", pointer(path), value))
	}
	parent[last] = value
}

// remove takes a value out, if it is there.
func (d *document) remove(path ...string) {
	parent, ok := d.at(path[:len(path)-1]...).(map[string]any)
	if !ok {
		return
	}
	last := path[len(path)-1]
	if _, there := parent[last]; !there {
		return
	}
	delete(parent, last)
	d.ops = append(d.ops, jsonpatch.NewOperation("remove", pointer(path), nil))
}

// decode reads the patched object into a typed one.
func (d *document) decode(into any) error {
	raw, err := json.Marshal(d.root)
	if err != nil {
		return fmt.Errorf("writing the patched object: %w", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("reading the patched object: %w", err)
	}
	return nil
}

// job is the patched object. A new one each time: decoding into an old value
// would keep what was removed.
func (d *document) job() (*batchv1.Job, error) {
	job := &batchv1.Job{}
	return job, d.decode(job)
}

// nest wraps a value into objects, one for each key.
func nest(value any, keys []string) any {
	for i := len(keys) - 1; i >= 0; i-- {
		value = map[string]any{keys[i]: value}
	}
	return value
}

// pointer is the JSON pointer of a path (RFC 6901).
func pointer(path []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var out strings.Builder
	for _, key := range path {
		out.WriteByte('/')
		out.WriteString(escape.Replace(key))
	}
	return out.String()
}
