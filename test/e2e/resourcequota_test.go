//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/plane/history"
)

const spaciousPolicy = `holdshort:
  config:
    flavors:
      gpu: {nodeLabels: {pool: %[1]s}}
    queues:
      train:
        namespaces: {names: [%[1]s]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: 100}
`

// The namespace may have fewer GPUs than its queue. Jobs start up to that, the API server
// never refuses a pod, and who waits starts when pods end or the ResourceQuota is raised.
func TestAResourceQuotaOfTheNamespaceIsOneMoreLimit(t *testing.T) {
	ctx, s := sceneBy(t, "resourcequota", fmt.Sprintf(spaciousPolicy, "resourcequota"), history.Rules{})
	addNodes(t, ctx, s, []cluster.NodeSpec{{Name: "space-1", GPUs: 32, Labels: map[string]string{"pool": "resourcequota"}}})
	operate := func(verb, manifest string) {
		t.Helper()
		_, err := s.KubectlIn(ctx, cluster.Admin, manifest, verb, "-n", s.NS, "-f", "-")
		must(t, err)
	}
	limit := func(hard string) {
		t.Helper()
		operate("apply", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: gpus}\nspec: {hard: {"+hard+"}}\n")
	}
	says := func(name, what string) {
		t.Helper()
		must(t, s.Eventually(ctx, name+" says why it waits", func(ctx context.Context) (bool, string) {
			j, err := s.Job(ctx, name)
			if err != nil {
				return false, err.Error()
			}
			message := j.Annotations["holdshort.dev/message"]
			return strings.HasPrefix(message, what), message
		}))
	}
	limit("requests.nvidia.com/gpu: 8, pods: 7")
	all := ""
	for _, name := range []string{"a", "b", "c"} {
		all += job{name: name, queue: "train", pods: 2, gpus: 2}.yaml() + "---\n"
	}
	_, err := s.Apply(ctx, all+job{name: "never", queue: "train", pods: 2, gpus: 5}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "a", 2))
	must(t, s.Running(ctx, "b", 2))
	says("c", "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace: 4 requests.nvidia.com/gpu asked, 8 of 8 used")
	says("never", "NeverFits: 10 requests.nvidia.com/gpu asked; ResourceQuota gpus of its namespace allows 8 in all")

	// Who waits behind others is told anew, too, when something else is in the way. Nobody
	// writes what is used: explain has it from the head of the queue.
	limit("requests.nvidia.com/gpu: 11, pods: 7")
	for _, name := range []string{"d", "e"} {
		_, err = s.Apply(ctx, job{name: name, queue: "train", pods: 2, gpus: 2}.yaml())
		must(t, err)
	}
	limit("requests.nvidia.com/gpu: 10, pods: 7")
	for _, name := range []string{"c", "d", "e"} {
		says(name, "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace: 4 requests.nvidia.com/gpu asked, 8 of 10 used")
	}
	_, err = s.Kubectl(ctx, "delete", "job", "d", "e")
	must(t, err)

	limit("requests.nvidia.com/gpu: 12, pods: 7")
	must(t, s.Running(ctx, "c", 2))
	// A pod that nobody queued takes the last one that there may be.
	operate("create", "apiVersion: v1\nkind: Pod\nmetadata: {name: stranger}\nspec: {containers: [{name: main, image: main}]}\n")
	_, err = s.Apply(ctx, job{name: "small", queue: "train", pods: 1, run: "1s", resources: "{requests: {cpu: 100m}}"}.yaml())
	must(t, err)
	says("small", "WaitingForNamespaceQuota: ResourceQuota gpus of its namespace: 1 pods asked, 7 of 7 used")
	must(t, s.NoPods(ctx, "small"))
	_, err = s.Kubectl(ctx, "delete", "job", "a")
	must(t, err)
	must(t, s.Finished(ctx, "small"))

	must(t, s.Eventually(ctx, "the API server refused no pod", func(ctx context.Context) (bool, string) {
		out, err := s.Env.Kubectl(ctx, cluster.Admin, "get", "events", "-n", s.NS, "--field-selector", "reason=FailedCreate", "-o", "custom-columns=M:.message", "--no-headers")
		return err == nil && strings.TrimSpace(out) == "", out
	}))
}
