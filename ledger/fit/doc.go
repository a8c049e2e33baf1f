// Package fit knows the machines: what each node has, what is held there, and
// how many pods of a shape still fit.
//
// All pods of one Job have one shape, so a gang fits exactly when the slots of
// the nodes add up: slots(node) = min over resources of floor(free/request).
// Nodes are dense rows of integers; a change marks one row, and every cached
// count catches up row by row, so that asking costs what has changed since the
// last time. Where a pod may run (selector, affinity, taints) is worked out once
// for each shape and node, and again only when the node's labels, taints or
// readiness change.
package fit
