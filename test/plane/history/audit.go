package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
)

// Write is one request that changed something, or tried to.
type Write struct {
	User      string
	Verb      string
	Resource  string // with its subresource: jobs, jobs/status
	Namespace string
	Name      string // empty if the server chose it
	Code      int    // of the answer
}

// Count is how often something was written.
type Count struct {
	Verb, Resource string
	Failed         bool // refused, or in conflict
	N              int
}

// auditEvent is what we read of a line of the audit log.
type auditEvent struct {
	Verb       string
	RequestURI string
	User       struct{ Username string }
	ObjectRef  struct{ Resource, Subresource, Namespace, Name, APIGroup string }

	ResponseStatus struct{ Code int }
}

// Writes reads the API server's audit log (cluster.Options.Audit). An empty
// user means everybody. Dry runs and questions, which store nothing, are left
// out. Give the API server a moment: a line follows its answer.
func Writes(path, user string) ([]Write, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w. Try: cluster.Options.Audit", err)
	}
	defer file.Close()
	return readWrites(file, user)
}

func readWrites(log io.Reader, user string) ([]Write, error) {
	var writes []Write
	reader := bufio.NewReader(log)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return writes, nil // a line without an end is still being written
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if (user == "" || e.User.Username == user) && e.stores() {
			writes = append(writes, e.write())
		}
	}
}

// stores: reviews answer questions, and a dry run ends before the store.
func (e auditEvent) stores() bool {
	switch e.ObjectRef.APIGroup {
	case "authorization.k8s.io", "authentication.k8s.io":
		return false
	}
	if e.ObjectRef.Subresource == "token" {
		return false
	}
	uri, err := url.Parse(e.RequestURI)
	return err != nil || !uri.Query().Has("dryRun")
}

func (e auditEvent) write() Write {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	return Write{e.User.Username, e.Verb, resource, e.ObjectRef.Namespace, e.ObjectRef.Name, e.ResponseStatus.Code}
}

// CountWrites sums up by verb, resource and success, sorted by those.
func CountWrites(writes []Write) []Count {
	sums := map[Count]int{}
	for _, w := range writes {
		sums[Count{Verb: w.Verb, Resource: w.Resource, Failed: w.Code >= 400}]++
	}
	counts := make([]Count, 0, len(sums))
	for c, n := range sums {
		c.N = n
		counts = append(counts, c)
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb), boolCompare(a.Failed, b.Failed))
	})
	return counts
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
