package kubelet

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// deviceID is a device of the cluster.
type deviceID struct{ driver, pool, name string }

// claim is what a node reads of a ResourceClaim: the devices it has to itself.
// Those for admin access are anybody's, and those that several claims share by
// capacity are not checked.
type claim struct {
	uid     types.UID
	devices []deviceID
}

// reserves reads a claim; an error if it is not, or not yet, for this pod.
func reserves(from *resourcev1.ResourceClaim, pod *corev1.Pod) (claim, error) {
	if from.Status.Allocation == nil {
		return claim{}, fmt.Errorf("claim %s/%s has no devices", from.Namespace, from.Name)
	}
	ours := func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID }
	if !slices.ContainsFunc(from.Status.ReservedFor, ours) {
		return claim{}, fmt.Errorf("claim %s/%s is not reserved for pod %s", from.Namespace, from.Name, pod.Name)
	}
	read := claim{uid: from.UID}
	for _, r := range from.Status.Allocation.Devices.Results {
		if (r.AdminAccess == nil || !*r.AdminAccess) && r.ShareID == nil {
			read.devices = append(read.devices, deviceID{r.Driver, r.Pool, r.Device})
		}
	}
	return read, nil
}

// needsClaims tells whether a pod has claims that were not read yet.
func (l *life) needsClaims() bool {
	if l.state != fresh || l.claimsRead || terminal(l.pod) || l.pod.DeletionTimestamp != nil {
		return false
	}
	return len(l.pod.Spec.ResourceClaims) > 0 || l.pod.Status.ExtendedResourceClaimStatus != nil
}

// readingClaims reads a pod's claims. As long as one is not there, not allocated
// or not reserved for the pod, the pod waits, as it does on a real node; one that
// ran before us is past that.
func (f *Fleet) readingClaims(l *life) func(context.Context) error {
	pod := l.pod
	return func(ctx context.Context) error {
		names, complete := claimNames(pod)
		before := pod.Status.Phase == corev1.PodRunning
		if !complete && !before {
			return fmt.Errorf("pod %s/%s: not all of its claims exist", pod.Namespace, pod.Name)
		}
		var claims []claim
		for _, name := range names {
			object, err := f.client.ResourceV1().ResourceClaims(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil && (!before || !apierrors.IsNotFound(err)) {
				return fmt.Errorf("reading claim %s/%s: %w", pod.Namespace, name, err)
			}
			read, err := reserves(object, pod)
			if err != nil && !before {
				return err
			}
			claims = append(claims, read)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		l.claims, l.claimsRead = claims, true
		return nil
	}
}

// prepare says why a node cannot give a pod the devices of its claims: a device
// is another claim's here, is none of the node's, or its card is used up. The
// scheduler's own books are not asked.
func (t *table) prepare(claims []claim) *refusal {
	taken := t.taken()
	for _, c := range claims {
		for _, id := range c.devices {
			if !t.knows(id) {
				return notPrepared("the node has no device %s of pool %s", id.name, id.pool)
			}
			if by, ok := taken[id]; ok && by != c.uid {
				return notPrepared("device %s of pool %s is in use by another claim", id.name, id.pool)
			}
			taken[id] = c.uid
		}
	}
	if set, counter, short := t.overdrawn(taken); short {
		return notPrepared("counter %s of %s is used up", counter, set)
	}
	return nil
}

// notPrepared is a refusal where a real kubelet would try again for ever: a test
// is to see that somebody gave a device twice.
func notPrepared(format string, args ...any) *refusal {
	return &refusal{"UnexpectedAdmissionError", "Pod was rejected: preparing its devices: " + fmt.Sprintf(format, args...)}
}

// taken devices, by the claim that has them.
func (t *table) taken() map[deviceID]types.UID {
	taken := map[deviceID]types.UID{}
	for _, claims := range t.claims {
		for _, c := range claims {
			for _, id := range c.devices {
				taken[id] = c.uid
			}
		}
	}
	return taken
}

// knows tells whether a device is there. Drivers that the node was not told of
// are believed.
func (t *table) knows(id deviceID) bool {
	if id.driver != DeviceDriver || len(t.pool.devices) == 0 {
		return true
	}
	return id.pool == t.node.Name && !t.pool.lost[id.name] && slices.ContainsFunc(t.pool.devices, func(d resourcev1.Device) bool { return d.Name == id.name })
}

// overdrawn names a counter that the taken devices use up more than there is of.
func (t *table) overdrawn(taken map[deviceID]types.UID) (set, counter string, short bool) {
	for _, has := range t.pool.sets {
		for name, total := range has.Counters {
			left := total.Value.DeepCopy()
			for _, d := range t.pool.devices {
				if _, ok := taken[deviceID{DeviceDriver, t.node.Name, d.Name}]; !ok {
					continue
				}
				for _, uses := range d.ConsumesCounters {
					if uses.CounterSet == has.Name {
						left.Sub(uses.Counters[name].Value)
					}
				}
			}
			if left.Sign() < 0 {
				return has.Name, name, true
			}
		}
	}
	return "", "", false
}

// unmapped is a pod without the extended resources that it got by a claim: no
// device plugin is asked for them.
func unmapped(pod *corev1.Pod) *corev1.Pod {
	extended := pod.Status.ExtendedResourceClaimStatus
	if extended == nil {
		return pod
	}
	pod = pod.DeepCopy()
	for _, m := range extended.RequestMappings {
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for _, c := range containers {
				if c.Name == m.ContainerName {
					delete(c.Resources.Requests, corev1.ResourceName(m.ResourceName))
					delete(c.Resources.Limits, corev1.ResourceName(m.ResourceName))
				}
			}
		}
	}
	return pod
}
