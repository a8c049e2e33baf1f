package kubelet

import (
	"context"
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Every node is due again after heartbeatPeriod, or later where that would
	// be more than ten writes a second: the plane's own noise must not drown
	// what is measured on it. The controller manager waits 5 minutes.
	heartbeatPeriod  = 20 * time.Second
	heartbeatSpacing = 100 * time.Millisecond
	statusPeriod     = 4 * time.Minute
	leaseSeconds     = 300
)

// heartbeats renews the nodes' leases one after the other, new nodes first.
func (f *Fleet) heartbeats(ctx context.Context) {
	for {
		name, wait := f.nextHeartbeat()
		if name != "" && !f.beat(ctx, name) {
			f.putFirst(name)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// nextHeartbeat names the node whose turn it is and how long to wait after it.
func (f *Fleet) nextHeartbeat() (string, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.turn) == 0 {
		return "", heartbeatSpacing
	}
	name := f.turn[0]
	f.turn = append(f.turn[1:], name)
	if !f.nodes[f.turn[0]].leased {
		return name, heartbeatSpacing
	}
	return name, max(heartbeatSpacing, heartbeatPeriod/time.Duration(len(f.turn)))
}

func (f *Fleet) putFirst(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := len(f.turn) - 1; last >= 0 && f.turn[last] == name {
		f.turn = append([]string{name}, f.turn[:last]...)
	}
}

// beat renews a lease, and now and then the status. An error is tried again on
// the next turn: the API server may be starting, or stopping.
func (f *Fleet) beat(ctx context.Context, name string) bool {
	f.mu.Lock()
	n, ok := f.nodes[name]
	if !ok {
		f.mu.Unlock()
		return true
	}
	leased, uid, old := n.leased, n.uid, time.Since(n.reported) > statusPeriod
	f.mu.Unlock()
	// A node that somebody deleted has no status, and keeps nobody else waiting.
	if old {
		if err := f.reportNode(ctx, name); err != nil && !apierrors.IsNotFound(err) {
			return false
		}
	}
	if leased {
		// Deleted with its node, it is made anew; so is the node, or it goes again.
		if err := f.renewLease(ctx, name); !apierrors.IsNotFound(err) {
			return err == nil
		}
	}
	if f.createLease(ctx, name, uid) != nil {
		return false
	}
	f.mu.Lock()
	n.leased = true
	f.mu.Unlock()
	return true
}

func (f *Fleet) createLease(ctx context.Context, name string, uid types.UID) error {
	now, seconds := metav1.NowMicro(), int32(leaseSeconds)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: uid}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	_, err := f.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, lease, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (f *Fleet) renewLease(ctx context.Context, name string) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"renewTime": metav1.NowMicro()}})
	if err != nil {
		return err
	}
	_, err = f.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
