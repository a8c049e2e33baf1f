package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mask is a JSON pointer into input or result.
type mask struct {
	pointer string
	path    []string
}

func parseMasks(pointers []string) ([]mask, error) {
	var masks []mask
	for _, pointer := range pointers {
		root, rest, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		if !strings.HasPrefix(pointer, "/") || root != "input" && root != "result" || rest == "" {
			return nil, fmt.Errorf("mask %q is not a JSON pointer into input or result. Try: /input/workload/annotations", pointer)
		}
		path := strings.Split(pointer[1:], "/")
		for i := range path {
			path[i] = strings.ReplaceAll(strings.ReplaceAll(path[i], "~1", "/"), "~0", "~")
		}
		masks = append(masks, mask{pointer, path})
	}
	return masks, nil
}

// erase takes out of a record what the masks say, and notes which of them did.
func erase(record *Record, masks []mask) {
	for _, m := range masks {
		document := record.Input
		if m.path[0] == "result" {
			document = record.Result
		}
		if remove(document, m.path[1:]) {
			record.Erased = append(record.Erased, m.pointer)
		}
	}
}

// remove deletes what a path leads to; * stands for every element.
func remove(document any, path []string) bool {
	key, last := path[0], len(path) == 1
	switch document := document.(type) {
	case map[string]any:
		if key == "*" {
			return removeEach(document, path)
		}
		value, there := document[key]
		if there && last {
			delete(document, key)
		}
		return there && (last || remove(value, path[1:]))
	case []any:
		removed := false
		for i := range document {
			if key == "*" || key == strconv.Itoa(i) {
				if last {
					document[i], removed = nil, true
				} else {
					removed = remove(document[i], path[1:]) || removed
				}
			}
		}
		return removed
	}
	return false
}

func removeEach(object map[string]any, path []string) bool {
	var keys []string
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	removed := false
	for _, key := range keys {
		removed = remove(object, append([]string{key}, path[1:]...)) || removed
	}
	return removed
}
