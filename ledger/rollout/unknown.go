package rollout

import (
	"fmt"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// unknown is the harm of not knowing a resource any more that the Job's queue knows now,
// as after a slip in a name. Who waits for it would be held; who has it would be charged
// nothing that anybody looks at, and others would get what he holds.
func (f *flight) unknown(resources []string, was, queue string) (kind, why string) {
	for _, name := range resources {
		if isUnknown(f.candidate, queue, name) && !isUnknown(f.old, was, name) {
			return changeResource, fmt.Sprintf("no quota of queue %s has %s, or what it is converted to, nor have the lists of resources", queue, name)
		}
	}
	return "", ""
}

func isUnknown(revision *engine.Revision, queue, resource string) bool {
	catalog := revision.Catalog()
	q, exists := catalog.Queues[queue]
	return exists && catalog.ResourceClass(q, resource) == policies.Unknown
}

// holds is the names of what an admitted Job was given.
func (l *Live) holds() []string {
	names := make([]string, 0, len(l.Holds))
	for _, h := range l.Holds {
		names = append(names, h.Resource)
	}
	return names
}
