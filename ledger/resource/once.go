package resource

import "strings"

// Whole is all that a node has of a thing that it has once, such as a port. Who
// needs it to himself asks for all of it; who only may not be where somebody has
// it so asks for 1.
const Whole = int64(1) << 20

// Port is the name under which a node's port is counted. Names of things that a
// node has once have a space in them, as no resource of Kubernetes has.
func Port(protocol, port string) string { return "host port " + port + "/" + protocol }

// Apart is the name under which it is counted that pods keep away from each other.
func Apart(from string) string { return "anti-affinity to " + from }

// Kept is the name under which those are counted who keep away from others, but
// not from each other.
func Kept(apart string) string { return apart + ", kept" }

// IsOnce tells whether a name is of a thing that a node has once: it is never
// charged, never in a quota, and nobody but the machines knows it.
func IsOnce(name string) bool { return strings.Contains(name, " ") }
