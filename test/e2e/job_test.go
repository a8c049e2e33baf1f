//go:build plane

package e2e

import (
	"fmt"
	"strings"
)

// job writes manifests of Jobs; zero fields are left out.
type job struct {
	name, queue, priority string
	pods, gpus            int
	run                   string // how long each pod runs; empty: for ever
	stop                  string // how long it takes to end when it is deleted; empty: 50ms
	spec                  string // more of the Job's spec, two spaces deep
	podSpec               string // more of the pod's spec, six spaces deep
	resources             string // instead of gpus, in flow style
	annotations           string // of the Job, in flow style
}

func (j job) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: %s\n", j.name)
	if j.annotations != "" {
		fmt.Fprintf(&b, "  annotations: %s\n", j.annotations)
	}
	b.WriteString("  labels:\n    test: e2e\n")
	if j.queue != "" {
		fmt.Fprintf(&b, "    holdshort.dev/queue: %s\n", j.queue)
	}
	if j.priority != "" {
		fmt.Fprintf(&b, "    holdshort.dev/priority: %s\n", j.priority)
	}
	b.WriteString("spec:\n")
	if j.pods > 0 {
		fmt.Fprintf(&b, "  parallelism: %d\n  completions: %d\n", j.pods, j.pods)
	}
	b.WriteString(j.spec)
	run := j.run
	if run == "" {
		run = "24h"
	}
	stop := j.stop
	if stop == "" {
		stop = "50ms"
	}
	resources := j.resources
	if resources == "" && j.gpus > 0 {
		resources = fmt.Sprintf("{limits: {nvidia.com/gpu: %d}}", j.gpus)
	}
	if resources == "" {
		resources = "{}"
	}
	fmt.Fprintf(&b, `  template:
    metadata:
      annotations: {plane.holdshort.dev/run: %s, plane.holdshort.dev/stop: %s}
    spec:
      restartPolicy: Never
%s      containers:
      - name: main
        image: main
        resources: %s
---
`, run, stop, j.podSpec, resources)
	return b.String()
}
