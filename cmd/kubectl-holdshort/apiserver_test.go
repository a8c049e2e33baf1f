package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// apiServer is as much of an API server as the plugin talks to. It serves what
// lies in a folder: RESOURCE.yaml holds objects, watch-RESOURCE.yaml the events
// of the one watch it allows, and refuse names resources that may not be read.
type apiServer struct {
	dir     string
	mu      sync.Mutex
	watched map[string]bool
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, namespace, name := parsePath(r.URL.Path)
	switch {
	case r.Method != http.MethodGet:
		answer(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "the plugin only reads", nil)
	case s.refuses(target{resource, namespace, name}):
		message := fmt.Sprintf("%s is forbidden: User %q cannot read it", resource, "alice")
		answer(w, http.StatusForbidden, "Forbidden", message, nil)
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r, resource)
	default:
		s.read(w, r, target{resource, namespace, name})
	}
}

type target struct{ resource, namespace, name string }

// parsePath takes /api/v1/… and /apis/GROUP/VERSION/… apart.
func parsePath(path string) (resource, namespace, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	parts = parts[min(len(parts), 2):] // /api/v1 or /apis/GROUP
	if strings.HasPrefix(path, "/apis/") && len(parts) > 0 {
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 1 {
		name = parts[1]
	}
	if len(parts) > 0 {
		resource = parts[0]
	}
	return resource, namespace, name
}

// refuses reads lines of a resource, or a resource and the verb get or list;
// "list all" is of all namespaces together.
func (s *apiServer) refuses(t target) bool {
	verb := "list"
	if t.name != "" {
		verb = "get"
	}
	text, _ := os.ReadFile(filepath.Join(s.dir, "refuse"))
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		everywhere := t.namespace == "" && line == "list all "+t.resource
		if line == t.resource || line == verb+" "+t.resource || everywhere {
			return true
		}
	}
	return false
}

func (s *apiServer) read(w http.ResponseWriter, r *http.Request, t target) {
	objects, err := readObjects(filepath.Join(s.dir, t.resource+".yaml"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		answer(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource", nil)
		return
	case err != nil:
		answer(w, http.StatusInternalServerError, "InternalError", err.Error(), nil)
		return
	}
	if t.name != "" {
		s.get(w, objects, t)
		return
	}
	list := map[string]any{"metadata": map[string]any{"resourceVersion": "100"}, "items": matching(objects, r, t)}
	if len(objects) > 0 {
		list["apiVersion"], list["kind"] = objects[0].GetAPIVersion(), objects[0].GetKind()+"List"
	}
	writeJSON(w, http.StatusOK, list)
}

func (s *apiServer) get(w http.ResponseWriter, objects []unstructured.Unstructured, t target) {
	for _, o := range objects {
		if o.GetNamespace() == t.namespace && o.GetName() == t.name {
			writeJSON(w, http.StatusOK, o.Object)
			return
		}
	}
	answer(w, http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", t.resource, t.name),
		&metav1.StatusDetails{Name: t.name})
}

func matching(objects []unstructured.Unstructured, r *http.Request, t target) []any {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		selector = labels.Nothing()
	}
	_, uid, _ := strings.Cut(r.URL.Query().Get("fieldSelector"), "=")
	found := []any{}
	for _, o := range objects {
		involved, _, _ := unstructured.NestedString(o.Object, "involvedObject", "uid")
		inNamespace := t.namespace == "" || o.GetNamespace() == t.namespace
		if inNamespace && selector.Matches(labels.Set(o.GetLabels())) && (uid == "" || involved == uid) {
			found = append(found, o.Object)
		}
	}
	return found
}

// watch sends its events and ends; whoever asks again may not. Where the story
// has none, nothing ever happens.
func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, resource string) {
	events, err := readObjects(filepath.Join(s.dir, "watch-"+resource+".yaml"))
	if errors.Is(err, os.ErrNotExist) {
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	if err != nil {
		answer(w, http.StatusInternalServerError, "InternalError", err.Error(), nil)
		return
	}
	s.mu.Lock()
	again := s.watched[resource]
	s.watched[resource] = true
	s.mu.Unlock()
	if again {
		answer(w, http.StatusForbidden, "Forbidden", "the story ends here", nil)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for _, event := range events {
		_ = json.NewEncoder(w).Encode(event.Object)
	}
}

func readObjects(file string) ([]unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var objects []unstructured.Unstructured
	for {
		var o map[string]any
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		if o != nil {
			objects = append(objects, unstructured.Unstructured{Object: o})
		}
	}
}

func answer(w http.ResponseWriter, code int, reason, message string, details *metav1.StatusDetails) {
	writeJSON(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code),
		Reason: metav1.StatusReason(reason), Message: message, Details: details,
	})
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}
