package reason

import (
	"fmt"
	"slices"
	"strings"
)

// The constructors below are why a Job cannot be counted: each names the field,
// the value that is wrong with it and what to write instead. BadRequest: only an edit
// changes the answer. MissingObject: the Job goes on once the object is there.

// NegativeRequest is an amount below zero.
func NegativeRequest(path, value string) Reason {
	return badRequest("%s: %s is negative. Try: an amount of 0 or more", path, value)
}

// FractionalRequest is a part of a device.
func FractionalRequest(path, value string) Reason {
	return badRequest("%s: %s is not a whole number, and devices can't be split. Try: a whole number", path, value)
}

// UncountableRequest is an amount beyond what the ledger can add up.
func UncountableRequest(path, value string) Reason {
	return badRequest("%s: %s is more than can be counted. Try: an amount that a machine can have", path, value)
}

// UncountableTotal is a sum over the pods beyond what the ledger can add up.
func UncountableTotal(resource string, pods int64) Reason {
	return badRequest("spec.parallelism: what %s would hold of %s is more than can be counted. Try: fewer pods at once", Pods(pods), resource)
}

// BadLeast is a least number of pods that the Job cannot start with.
func BadLeast(annotation, value string, pods int64) Reason {
	if pods <= 1 {
		return badRequest("metadata.annotations[%s]: %q, and the Job has one pod at most. Try: leave it out, or set it to 1", annotation, value)
	}
	return badRequest("metadata.annotations[%s]: %q is not a whole number from 1 to spec.parallelism. Try: one from 1 to %d",
		annotation, value, pods)
}

// BadMaxRuntime is a longest run that is none.
func BadMaxRuntime(annotation, value string) Reason {
	return badRequest("metadata.annotations[%s]: %q is not a whole number of seconds, 1 or more. Try: \"3600\" for an hour", annotation, value)
}

// BadTopology is a level that can't be a node label.
func BadTopology(annotation, value string) Reason {
	return badRequest("metadata.annotations[%s]: %q cannot be a node label. Try: a level of the flavor's topology, such as topology.kubernetes.io/zone",
		annotation, value)
}

// MisplacedTopology is a wish of a Job that stands on its pods.
func MisplacedTopology(annotation string) Reason {
	return badRequest("spec.template.metadata.annotations[%s]: it is read on the Job, not on its pods. Try: metadata.annotations[%s]", annotation, annotation)
}

// TwoTopologies is a level that is required and one that is preferred.
func TwoTopologies(required, preferred string) Reason {
	return badRequest("metadata.annotations[%s]: the Job has %s, too, and is to be near each other at one level. Try: one of the two",
		preferred, required)
}

// MissingRuntimeClass is a RuntimeClass that does not exist: pods of it would
// be refused, and their overhead is not known.
func MissingRuntimeClass(name string) Reason {
	return missing("spec.template.spec.runtimeClassName: RuntimeClass %s not found. Try: a name from kubectl get runtimeclasses", name)
}

// MissingPriorityClass is a PriorityClass that does not exist: pods of it would
// be refused.
func MissingPriorityClass(name string) Reason {
	return missing("spec.template.spec.priorityClassName: PriorityClass %s not found. Try: a name from kubectl get priorityclasses", name)
}

// ForeignOverhead is a pod overhead that is not that of the RuntimeClass.
func ForeignOverhead() Reason {
	return badRequest("spec.template.spec.overhead: not the overhead of the pod's RuntimeClass, so the API server refuses such pods. Try: leave it out")
}

// ClashingRuntimeClass is a node selector against that of the RuntimeClass.
func ClashingRuntimeClass(class, key, want, value string) Reason {
	return badRequest("spec.template.spec.nodeSelector[%s]: %s, but RuntimeClass %s runs only where it is %s. Try: leave the key out",
		key, value, class, want)
}

// MissingClaimTemplate is a template of claims that does not exist: what its pods ask
// for is not known, and they would wait for it.
func MissingClaimTemplate(as, name, namespace string) Reason {
	return missing("spec.template.spec.resourceClaims[%s].resourceClaimTemplateName: ResourceClaimTemplate %s not found in namespace %s. "+
		"Try: a name from kubectl get resourceclaimtemplates -n %s", as, name, namespace, namespace)
}

// MissingClaim is a claim that does not exist.
func MissingClaim(as, name, namespace string) Reason {
	return missing("spec.template.spec.resourceClaims[%s].resourceClaimName: ResourceClaim %s not found in namespace %s. "+
		"Try: a name from kubectl get resourceclaims -n %s", as, name, namespace, namespace)
}

// MissingDeviceClass is a class of devices that does not exist: nobody knows which
// devices are meant.
func MissingDeviceClass(as, name string) Reason {
	return missing("spec.template.spec.resourceClaims[%s]: DeviceClass %s not found. Try: a name from kubectl get deviceclasses", as, name)
}

// UncountableClaim is a claim for devices that can't be counted.
func UncountableClaim(as, why string) Reason {
	return badRequest("spec.template.spec.resourceClaims[%s]: %s, which can't be counted. Try: a claim for a number of devices of a class", as, why)
}

// ClaimOfOther is a claim for devices that another Job's pod is about to have allocated.
func ClaimOfOther(claim, job string) Reason {
	return Reason{Code: BehindOthers, Message: fmt.Sprintf("its pods share ResourceClaim %s with those of %s, which has it allocated first; it is looked at when that is done", claim, job)}
}

// ApartTogether is that so many pods share devices of one node, and can't be on one node.
func ApartTogether(pods int64) Reason {
	return badRequest("spec.template.spec: %d pods share a claim for devices, which are on one node, and host ports or anti-affinity keep them off each other's. Try: a resourceClaimTemplateName, for each to have devices of its own", pods)
}

// ShareOfCard is a part of a card asked for by an annotation.
func ShareOfCard(key, value string) Reason {
	return Reason{Code: UnknownResource, Message: fmt.Sprintf("spec.template.metadata.annotations[%s]: %q asks for a part of a card beside the resources, "+
		"which can't be counted yet. Try: ask for the device as a resource of the container", key, value)}
}

// Unverified names what a Job asks of its nodes that is not checked before it starts.
func Unverified(names []string) string {
	return fmt.Sprintf("unverified before the start: %s; if its pods find no nodes, it is taken back", strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", "))
}

// Crowded is more of something than the API server's guards look at one by one.
func Crowded(path string, has, most int) Reason {
	return badRequest("%s: %d, and a Job in a queue has at most %d. Try: leave some out", path, has, most)
}

func badRequest(format string, args ...any) Reason {
	return Reason{Code: BadRequest, Message: fmt.Sprintf(format, args...)}
}

func missing(format string, args ...any) Reason {
	return Reason{Code: MissingObject, Message: fmt.Sprintf(format, args...)}
}
