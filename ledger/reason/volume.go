package reason

import (
	"fmt"
	"strings"
)

// NoVolume is that pods which mount a PersistentVolumeClaim would find no node.
func NoVolume(claim, why string) Reason {
	return Reason{Code: WaitingForVolumes, Message: fmt.Sprintf("volume claim %s: %s", claim, why)}
}

// NoStorageClass is a class of volumes, made for each pod, that does not exist.
func NoStorageClass(as, class string) Reason {
	return Reason{Code: WaitingForVolumes, Message: fmt.Sprintf(
		"spec.template.spec.volumes[%s].ephemeral: StorageClass %s not found. Try: a name from kubectl get storageclasses", as, class)}
}

// VolumeForOnePod is a claim that one pod at a time may have, of a Job with more.
func VolumeForOnePod(as, claim string, pods int64) Reason {
	return badRequest("spec.template.spec.volumes[%s]: volume claim %s is ReadWriteOncePod, for one pod at a time, and the Job runs %s at once. "+
		"Try: spec.parallelism: 1, or a claim that is ReadWriteMany", as, claim, Pods(pods))
}

// Pinned is where a claim ties pods to.
func Pinned(claim, is string) string { return claim + " is " + is }

// Needed is the features that pods need of a node.
func Needed(features []string) string {
	return "its pods need nodes that declare " + and(features)
}

// AsOne is that so many pods count as one, since they share devices that nobody has yet.
func AsOne(pods int64) string {
	return fmt.Sprintf("its %d pods share a claim for devices and count as one, on one node", pods)
}

// With adds to what a reason says; what would help stays last.
func (r Reason) With(note string) Reason {
	at := len(r.Message)
	for _, end := range []string{". It starts by itself", ". " + advice} {
		if i := strings.Index(r.Message, end); i >= 0 {
			at = min(at, i)
		}
	}
	r.Message = r.Message[:at] + "; " + note + r.Message[at:]
	return r
}

// PinnedElsewhere is a flavor whose label contradicts where a claim of the pods is.
func PinnedElsewhere(flavor, key, has, is string) Reason {
	return Reason{Code: NoMatchingFlavor, Message: fmt.Sprintf("flavor %s has %s=%s, and one of the pods' claims is %s", flavor, key, has, is)}
}
