//go:build plane

package placement_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// class is a reason for which the ledger may hold what the scheduler would place.
// docs/placement.md has each sentence.
type class struct {
	sentence string
	// covers tells whether it explains a Job whose pods landed there.
	covers func(g *game, job *batchv1.Job, pods []corev1.Pod) bool
}

func classes() []class {
	return []class{
		{"Nothing new goes to a node that is cordoned or not ready, whatever a pod tolerates.", onClosedNode},
		{"A host port is a node's whole port: the same port on two addresses counts as taken.", byAddress},
		{"Room that a pending pod of nobody's queue could take at any moment is not given away.", besideRivals},
		{"Devices of a pool that several nodes take from count as nothing.", besideSharedPools},
		{"Pods that share a claim which nobody has had allocated yet, and have devices of their own besides, wait until somebody has.", sharing},
		{"Of several Jobs with one claim that nobody has had allocated yet, one goes first; and so with a volume that is made for a pod.", never},
		{"Of cards that can be cut, claims for several parts may be told to be fewer than there is room for.", ofSeveralParts},
		{"A claim that waits for a pod goes where its class makes volumes, even if one is there already elsewhere.", never},
		// Everybody is bound when the held are tried, and nobody displaces.
		{"A gang goes only if it has room wherever pods that were let go before it land, and they wherever it lands.", never},
		{"Room that the scheduler would make by preemption is not there until it has been made.", never},
	}
}

func onClosedNode(g *game, _ *batchv1.Job, pods []corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
		return slices.ContainsFunc(g.Nodes, func(m machine) bool { return m.Name == pod.Spec.NodeName && (m.Cordoned || m.NotReady) })
	})
}

func never(*game, *batchv1.Job, []corev1.Pod) bool { return false }

func byAddress(_ *game, job *batchv1.Job, _ []corev1.Pod) bool {
	return len(job.Spec.Template.Spec.Containers[0].Ports) > 0
}

// besideRivals: the pods that wait are looked at before the Job's own are made.
func besideRivals(g *game, _ *batchv1.Job, _ []corev1.Pod) bool { return g.rivals > 0 }

func besideSharedPools(g *game, job *batchv1.Job, _ []corev1.Pod) bool {
	return len(job.Spec.Template.Spec.ResourceClaims) > 0 &&
		slices.ContainsFunc(g.Devices.Slices, func(s *resourcev1.ResourceSlice) bool { return s.Spec.NodeName == nil })
}

func sharing(_ *game, job *batchv1.Job, _ []corev1.Pod) bool {
	named := func(c corev1.PodResourceClaim) bool { return c.ResourceClaimName != nil }
	claims := job.Spec.Template.Spec.ResourceClaims
	return *job.Spec.Parallelism > 1 && len(claims) > 1 && slices.ContainsFunc(claims, named)
}

func ofSeveralParts(g *game, job *batchv1.Job, pods []corev1.Pod) bool {
	cut := func(s *resourcev1.ResourceSlice) bool {
		return len(s.Spec.SharedCounters) > 0 && slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == *s.Spec.NodeName })
	}
	several := func(c corev1.PodResourceClaim) bool {
		at := slices.IndexFunc(g.Devices.Templates, func(t *resourcev1.ResourceClaimTemplate) bool {
			return c.ResourceClaimTemplateName != nil && t.Name == *c.ResourceClaimTemplateName
		})
		return at >= 0 && slices.ContainsFunc(g.Devices.Templates[at].Spec.Spec.Devices.Requests, func(r resourcev1.DeviceRequest) bool {
			return r.Exactly != nil && r.Exactly.Count > 1
		})
	}
	return g.Devices != nil && slices.ContainsFunc(g.Devices.Slices, cut) && slices.ContainsFunc(job.Spec.Template.Spec.ResourceClaims, several)
}

func TestWhereWeAreStricterIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/placement.md")
	must(t, err)
	for _, c := range classes() {
		if !strings.Contains(string(page), "\n- "+c.sentence+"\n") {
			t.Errorf("docs/placement.md does not say: %s", c.sentence)
		}
	}
}
