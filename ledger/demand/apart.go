package demand

// Apart keeps a pod from the nodes where pods of some kind are, and these from its
// node: a required anti-affinity by node.
type Apart struct {
	// Name is the same wherever the same pods are meant.
	Name string
	// Namespaces and Labels say which pods are meant; nil Namespaces: of all.
	Namespaces []string
	Labels     []NodeRequirement
}
