package intake

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/reason"
	amounts "github.com/holdshort/holdshort/ledger/resource"
)

// together is a pod set whose pods share a claim that nobody has had allocated: they go
// where the first of them goes. So they are one thing that takes what all of them take,
// on one node, and none starts without the others.
func together(set *demand.PodSet) {
	set.Requests, set.Limits = set.Requests.Times(set.Count), set.Limits.Times(set.Count)
	set.Count, set.MinCount, set.Together = 1, 0, set.Count
	set.Topology = demand.Topology{Level: corev1.LabelHostname, Required: true}
}

// apartTogether is that so many pods of a Job, which have to be on one node, can't be; nil:
// they can.
func apartTogether(spec *corev1.PodSpec, own siblings, pods int64) *reason.Reason {
	apart := slices.ContainsFunc(apartTerms(spec.Affinity), func(term corev1.PodAffinityTerm) bool {
		selector, ok := own.selector(&term)
		return ok && selector != nil && selector.Matches(labels.Set(own.labels))
	})
	if !apart && len(hostPorts(spec)) == 0 {
		return nil
	}
	problem := reason.ApartTogether(pods)
	return &problem
}

// perPod is what policies see of one pod of a set: what it asks for, and the devices that
// it has, shared or not.
func perPod(set *demand.PodSet) amounts.List {
	if set.Together == 0 {
		return set.Requests
	}
	requests, _ := set.Each()
	requests.AddTo(set.Place.Claimed, 1)
	return requests
}

// total is what policies see of so many pods of a set.
func total(set *demand.PodSet, pods int64) amounts.List {
	if set.Together == 0 {
		return set.Requests.Times(pods)
	}
	requests, _ := set.Each()
	all := requests.Times(pods)
	all.AddTo(set.Place.Claimed, 1)
	return all
}
