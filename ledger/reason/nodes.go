package reason

import "fmt"

// FlavorNodes is how the nodes of a flavor look to the pods of a Job.
type FlavorNodes struct {
	Flavor string      `json:"flavor"`
	Groups []NodeGroup `json:"groups,omitempty"` // those first that take most; none: the flavor has no nodes
}

// NodeGroup is nodes on which the pods of a Job fare alike.
type NodeGroup struct {
	Nodes int64  `json:"nodes"`
	Pods  int64  `json:"pods"`           // that each of them could take now
	Node  string `json:"node,omitempty"` // one of them
	Why   string `json:"why"`            // they take no more
}

// Range is the least and the most of an amount.
type Range struct{ Least, Most int64 }

// Widen takes another amount in.
func (r *Range) Widen(n int64) { r.Least, r.Most = min(r.Least, n), max(r.Most, n) }

func (r Range) text(resource string) string {
	if r.Least == r.Most {
		return Amount(resource, r.Most)
	}
	return Amount(resource, r.Least) + " to " + Amount(resource, r.Most)
}

// FreeThere is how much is free on each node of a group, of how much is built in, and
// how much of that can't be given out for the moment.
func FreeThere(resource string, free, total, lost Range) string {
	switch {
	case total.Most == 0:
		return "no " + resource
	case lost.Most == 0:
		return fmt.Sprintf("%s of %s %s free", free.text(resource), total.text(resource), resource)
	}
	return fmt.Sprintf("%s of %s %s free, %s not allocatable now", free.text(resource), total.text(resource), resource, lost.text(resource))
}

// The other things that can be said of a node.
const (
	CordonedThere = "cordoned"
	NotReadyThere = "not ready"
	AffinityThere = "not what the required node affinity asks for"
	ComingThere   = "not there yet; an autoscaler may add it"
	InVainThere   = "not there yet; asked for in vain, and not asked for again for a while"
	OthersThere   = "for other reasons"
)

// LabelThere is that a node has not the label that the pods select.
func LabelThere(key, value string) string { return "selector " + key + "=" + value }

// WishThere is that a node does not meet a requirement of the node affinity.
func WishThere(wish string) string { return "not " + wish + " (required node affinity)" }

// NotOfThere is that a node has not the labels of a flavor.
func NotOfThere(flavor string) string { return "not of " + flavor }

// TaintThere is that the pods don't tolerate a taint.
func TaintThere(key, value, effect string) string {
	if value != "" {
		key += "=" + value
	}
	return "taint " + key + ":" + effect + " not tolerated"
}

// PinThere is that something of the pods is elsewhere: a volume, or a device that they
// have already.
func PinThere(is string) string { return "not here: one of its claims is " + is }

// FeatureThere is that a node does not declare a feature that the pods need.
func FeatureThere(name string) string { return "does not declare the feature " + name }

// TakenThere is that somebody has a thing that a node has once.
func TakenThere(thing string) string { return thing + " taken" }

// PerNodeThere is that a node takes so many pods of one Job, and no more.
func PerNodeThere(pods int64) string { return fmt.Sprintf("a node takes %s of it at most", Pods(pods)) }
