package ledger

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdshort/holdshort/policies"
)

// countPerDevice reads Jobs and pods again where the policy says otherwise than before of
// what containers ask for each of their devices.
func (l *Loop) countPerDevice(ctx context.Context, catalog *policies.Catalog, news *batch) {
	now := perDevice(catalog)
	if maps.Equal(l.perDevice, now) {
		return
	}
	var pods corev1.PodList
	if err := l.Cache.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		l.Log.Error(err, "what pods ask for each of their devices is counted as before; trying again")
		return
	}
	l.perDevice = now
	for i := range pods.Items {
		pod := &pods.Items[i]
		if _, newer := news.pods[pod.UID]; !newer {
			news.pods[pod.UID] = podChange{pod: pod}
		}
	}
	for _, t := range l.jobs {
		l.readJob(t)
	}
}

func perDevice(catalog *policies.Catalog) map[string]string {
	if catalog == nil {
		return nil
	}
	return catalog.Resources.PerDevice
}
