package kubelet

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotations of a pod that say how its process behaves.
const (
	annotationPrefix = "plane.holdshort.dev/"

	// AnnotationRun is how long it runs, a Go duration; default 1h.
	AnnotationRun = annotationPrefix + "run"
	// AnnotationExitCode is what it ends with by itself; default 0.
	AnnotationExitCode = annotationPrefix + "exit-code"
	// AnnotationStop is how long it needs to end once it is told to; default
	// the whole grace period, after which it is killed.
	AnnotationStop = annotationPrefix + "stop"
	// AnnotationGhost is how long its devices stay taken after its object was
	// removed by force; default 0.
	AnnotationGhost = annotationPrefix + "ghost"
)

const (
	defaultRun    = time.Hour
	exitKilled    = 137 // by SIGKILL
	exitTold      = 143 // by SIGTERM
	restartPause  = time.Second
	defaultStop   = time.Duration(-1) // the grace period
	exitCodeLimit = 255
)

// script is how a pod's process behaves.
type script struct {
	run, stop, ghost time.Duration
	exitCode         int32
}

// readScript reads the annotations of a pod.
func readScript(pod *corev1.Pod) (script, error) {
	s := script{run: defaultRun, stop: defaultStop}
	for name, into := range map[string]*time.Duration{AnnotationRun: &s.run, AnnotationStop: &s.stop, AnnotationGhost: &s.ghost} {
		text, set := pod.Annotations[name]
		if !set {
			continue
		}
		duration, err := time.ParseDuration(text)
		if err != nil || duration < 0 {
			return script{}, fmt.Errorf("annotation %s is %q. Try: a duration like 90s", name, text)
		}
		*into = duration
	}
	if text, set := pod.Annotations[AnnotationExitCode]; set {
		code, err := strconv.ParseInt(text, 10, 32)
		if err != nil || code < 0 || code > exitCodeLimit {
			return script{}, fmt.Errorf("annotation %s is %q. Try: a number from 0 to 255", AnnotationExitCode, text)
		}
		s.exitCode = int32(code)
	}
	return s, nil
}
