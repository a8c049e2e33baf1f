package reason

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Barred is that no node of a flavor may run the pods, and what keeps them off.
type Barred struct {
	Flavor string
	Labels map[string]string // that make a node one of the flavor
	Nodes  int64             // that have them
	Bars   []Bar             // those first that keep the pods off most nodes
	Node   string            // the one that the pods name, if they do; then Nodes and Bars are of it alone
}

// Bar keeps pods off nodes.
type Bar struct {
	Nodes int64
	Why   string // as the functions and constants …There have it
	Try   string // what would open them; empty: nothing of the Job
}

// barsMax is how many are named.
const barsMax = 3

// NoSuchMachines is that no node at all may run the pods.
func NoSuchMachines(b Barred) Reason {
	const byItself = ". It starts by itself if such a node comes"
	switch {
	case b.Node != "":
		which := "which is not there"
		if len(b.Bars) > 0 {
			which = "which may not run them: " + b.Bars[0].Why
		}
		return Reason{Code: NeverFits, Message: fmt.Sprintf("the pods ask for the node %s (nodeName), %s%s. Try: leave out nodeName", b.Node, which, byItself)}
	case b.Nodes == 0 && len(b.Labels) == 0:
		return Reason{Code: NeverFits, Message: "there is no node" + byItself}
	case b.Nodes == 0:
		return Reason{Code: NeverFits, Message: fmt.Sprintf("no node has the labels of %s (%s)%s. Try: another flavor or queue, or have nodes labelled so",
			b.Flavor, pairs(b.Labels), byItself)}
	}
	var bars, tries []string
	for i, bar := range b.Bars {
		if i == barsMax {
			bars = append(bars, "and other reasons")
			break
		}
		bars = append(bars, fmt.Sprintf("%s (%s)", bar.Why, counted(bar.Nodes, "node")))
		if bar.Try != "" && !slices.Contains(tries, bar.Try) {
			tries = append(tries, bar.Try)
		}
	}
	message := fmt.Sprintf("no node of %s may run its pods: %s%s", b.Flavor, strings.Join(bars, ", "), byItself)
	if len(tries) > 0 {
		message += ". " + advice + strings.Join(tries, "; or ")
	}
	return Reason{Code: NeverFits, Message: message}
}

// AffinityTry opens nodes that a required node affinity excludes.
const AffinityTry = "correct the required node affinity"

// LabelTry opens nodes that have not the label that the pods select; coming are those that
// an autoscaler adds, and of which only the labels of their flavor are known.
func LabelTry(key string, coming bool) string {
	if coming {
		return "have " + key + " named in the flavor's nodeLabels, if the machines that come have it"
	}
	return "correct the node selector " + key + ", or leave it out"
}

// TaintTry opens nodes with a taint.
func TaintTry(key string) string { return "tolerate the taint " + key }

// pairs writes labels for people.
func pairs(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	return strings.Join(all, ", ")
}
