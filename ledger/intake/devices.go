package intake

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdshort/holdshort/ledger/reason"
	amounts "github.com/holdshort/holdshort/ledger/resource"
)

// migState is the label in which NVIDIA's MIG manager says how far it is with dividing
// a node's cards. Until it has succeeded, the old devices and the new ones come and go.
const migState = "nvidia.com/mig.config.state"

// repartitioning says that a node's cards are being divided anew; empty if they are not.
func repartitioning(node *corev1.Node) string {
	state, labelled := node.Labels[migState]
	if !labelled || state == "success" {
		return ""
	}
	return fmt.Sprintf("its cards are being divided anew (%s: %s)", migState, state)
}

// NodeAnnotation tells whether an annotation of a node is read.
func NodeAnnotation(key string) bool {
	return strings.HasPrefix(key, "hami.io/node-") && strings.HasSuffix(key, "-register")
}

// shared says that HAMi shares a node's devices: they are announced many times over
// there, and what is left of each is known to its own scheduler alone.
func shared(node *corev1.Node) string {
	for key := range node.Annotations {
		if NodeAnnotation(key) {
			return "HAMi shares its devices, which can't be counted yet"
		}
	}
	return ""
}

func withoutDevices(list amounts.List) amounts.List {
	maps.DeleteFunc(list, func(name string, _ int64) bool { return amounts.IsDevice(name) })
	return list
}

// shareOfCard finds the annotations by which KAI and Run:ai give a pod a part of a card
// though it asks for no resource: it would count as nothing.
func shareOfCard(annotations map[string]string) *reason.Reason {
	for _, key := range []string{"gpu-fraction", "gpu-memory"} {
		if value, set := annotations[key]; set {
			problem := reason.ShareOfCard(key, value)
			return &problem
		}
	}
	return nil
}
