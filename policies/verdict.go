package policies

import "cmp"

// Verdict is the value of holdshort.policy.classify for one workload.
type Verdict struct {
	Queue    string `json:"queue"`
	Priority int64  `json:"priority"`
	// Order replaces (priority, arrival) in every comparison when it is there;
	// the default is [-priority, arrival_ns]. Compared element by element,
	// lower first; see CompareOrder.
	Order []OrderKey `json:"order,omitempty"`
	// Flavors is an ordered allow-list; nil means all of the queue's, in its order.
	Flavors []string `json:"flavors,omitempty"`
	// User to whom usage is accounted.
	User string `json:"user,omitempty"`
	// Preemptible says whether others may displace it; nil means yes.
	Preemptible *bool `json:"preemptible,omitempty"`
	// MinRuntimeSeconds is how long it runs before others may displace it.
	MinRuntimeSeconds int64 `json:"minRuntimeSeconds,omitempty"`
	// MaxRuntimeSeconds is how long it runs in all, over all its starts, before it
	// is stopped for good; 0 means for as long as it likes.
	MaxRuntimeSeconds int64 `json:"maxRuntimeSeconds,omitempty"`
}

// Input is the verdict as later rules read it.
func (v Verdict) Input() *VerdictInput {
	return &VerdictInput{
		Queue: v.Queue, Priority: v.Priority, Order: v.Order, Flavors: v.Flavors, User: v.User,
		Preemptible: v.Preemptible == nil || *v.Preemptible, MinRuntimeSec: v.MinRuntimeSeconds, MaxRuntimeSec: v.MaxRuntimeSeconds,
	}
}

// OrderKey is one element of an order: a number or a string.
type OrderKey struct {
	Number int64
	Text   string
	IsText bool
}

// CompareOrder orders two keys: element by element, numbers before strings, and
// of two where one is the beginning of the other, the shorter first.
func CompareOrder(a, b []OrderKey) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if c := a[i].compare(b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func (k OrderKey) compare(other OrderKey) int {
	switch {
	case k.IsText && other.IsText:
		return cmp.Compare(k.Text, other.Text)
	case k.IsText:
		return 1
	case other.IsText:
		return -1
	}
	return cmp.Compare(k.Number, other.Number)
}

// Reason is what deny, warn and hold return: why not, in the policy's words.
type Reason struct {
	// Code is the policy's own, in its own namespace: team.example/Freeze.
	Code    string `json:"code"`
	Message string `json:"message"`
	// UntilNS is when it will end by itself, 0 if not known.
	UntilNS int64  `json:"until_ns,omitempty"`
	Docs    string `json:"docs,omitempty"`
	// RuleAt is file:row of the rule, added by the engine.
	RuleAt string `json:"rule_at,omitempty"`
}
