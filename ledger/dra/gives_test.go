package dra

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	amounts "github.com/holdshort/holdshort/ledger/resource"
)

// bind has the allocator give a pod what it asks for on a node, if it can, and tells the
// state of it.
func (w *world) bind(t *rapid.T, s *State, pod types.UID, sharedToo bool) (node string, ok bool) {
	node = drawName(t, "node", worldNodes)
	specs := rapid.SampledFrom(asks()).Draw(t, "asks for")
	if _, there := w.nodes[node]; !there {
		return "", false
	}
	a := allocator{expressions: newExpressions(), classes: w.classes}
	given, err := a.allocate(w.site(node, true), claimsFor(specs))
	if err != nil || len(given) != len(specs) {
		return "", false
	}
	for i := range specs {
		c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint("claim-", i, "-of-", pod))}, Spec: specs[i]}
		c.Status.Allocation = &given[i]
		c.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{UID: pod}}
		if sharedToo {
			c.Status.ReservedFor = append(c.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{UID: "another"})
		}
		w.claims[c.UID] = c
		s.SetClaim(c)
	}
	s.SetPod(Pod{UID: pod, Node: node, Claims: specs})
	return node, true
}

// What pods give back is there once they and their claims are gone, all of several at
// once. Where only the number of devices matters it is all of it.
func TestWhatPodsGiveIsFreeWhenTheyAreGone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, w := start(t)
		heard, nodes := told{}, map[types.UID]string{}
		for i := range rapid.IntRange(1, 5).Draw(t, "pods") {
			pod, sharedToo := types.UID(fmt.Sprint("pod-", i)), rapid.IntRange(0, 4).Draw(t, "shared") == 0
			if node, ok := w.bind(t, s, pod, sharedToo); ok && rapid.Bool().Draw(t, "goes") {
				nodes[pod] = node
			}
		}
		heard.hear(s)
		gives := map[string]amounts.List{}
		left := *w
		left.claims = maps.Clone(w.claims)
		for pod, node := range nodes {
			rows, known := s.Gives(pod)
			if !known {
				t.Fatalf("all claims of %s are there, and it is not known what it gives", pod)
			}
			if gives[node] == nil {
				gives[node] = amounts.List{}
			}
			gives[node].AddTo(rows, 1)
			maps.DeleteFunc(left.claims, func(_ types.UID, c *resourceapi.ResourceClaim) bool {
				return len(c.Status.ReservedFor) == 1 && c.Status.ReservedFor[0].UID == pod
			})
		}
		after := left.rows()
		for node, rows := range gives {
			v := s.viewOf(s.node(node))
			for name := range w.wants {
				was, is, gave := heard[node][name].Free, after[node][name].Free, rows[name]
				if failed := len(s.wants[name].errors) > 0; failed || w.doubtful() || left.fails(name) {
					continue // nothing is free of it anywhere, or on a device that comes free an expression fails; or it may say less
				}
				if was+gave > is {
					t.Errorf("%s on %s: %d free, %d given back, and %d free then", name, node, was, gave, is)
				}
				exact := v.plain && !v.doubtful && strings.HasPrefix(name, amounts.DeviceSet)
				if exact && was+gave < is {
					t.Errorf("%s on %s: %d free, only %d given back, and %d free then", name, node, was, gave, is)
				}
			}
		}
	})
}

// fails tells whether the scheduler gives up on a want, since an expression fails on a
// device that is not in use.
func (w *world) fails(name string) bool {
	a := allocator{expressions: newExpressions(), classes: w.classes}
	for node := range w.nodes {
		if _, err := a.slots(w.site(node, true), claimsFor(w.wants[name]), most); err != nil {
			return true
		}
	}
	return false
}
