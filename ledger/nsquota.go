package ledger

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/intake"
)

// observeResourceQuotas brings those into the book that are new or changed, and all of
// them when other devices may be meant by what they limit.
func (l *Loop) observeResourceQuotas(b batch) {
	changed := b.resourceQuotas
	update(l.world.resourceQuotas, changed)
	for name, object := range changed {
		if object == nil {
			l.book.DeleteNamespaceQuota(name.Namespace, name.Name)
		}
	}
	if len(b.devices.classes) > 0 {
		changed = l.world.resourceQuotas
	}
	for _, object := range changed {
		if object != nil {
			l.takeResourceQuota(object)
		}
	}
}

func (l *Loop) takeResourceQuota(object *corev1.ResourceQuota) {
	q := intake.NamespaceQuota(object, l.devices.byName())
	if q == nil {
		l.book.DeleteNamespaceQuota(object.Namespace, object.Name)
		return
	}
	l.book.SetNamespaceQuota(q)
}
