//go:build plane

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/test/plane/cluster"
	"github.com/holdshort/holdshort/test/stories"
)

const flipPolicy = `holdshort:
  config:
    flavors:
      gpu: {}
    queues:
      flip:
        namespaces: {names: [flip]}
        flavors: [gpu]
        quota:
          gpu: {nvidia.com/gpu: %d}
`

// TestAPolicyThatFlipsAdmitsNothingByAccident: one policy has quota and holds
// everything, the other holds nothing and has no quota. What is decided by a bit
// of each would start a Job. A shadow that never ends is asked about all of it.
func TestAPolicyThatFlipsAdmitsNothingByAccident(t *testing.T) {
	held := map[string]string{"data.yaml": fmt.Sprintf(flipPolicy, 4),
		"hold.rego": "package holdshort.policy\n\nhold contains {\"code\": \"team.example/Never\", \"message\": \"never\"}\n"}
	empty := map[string]string{"data.yaml": fmt.Sprintf(flipPolicy, 0)}
	ctx, s := scene(t, "flip", empty["data.yaml"])
	var manifests strings.Builder
	for i := range 40 {
		manifests.WriteString(job{name: fmt.Sprintf("flip-%d", i), queue: "flip", pods: 1, gpus: 1, run: "1m"}.yaml() + "---\n")
	}
	_, err := s.Apply(ctx, manifests.String())
	must(t, err)
	setShadow(t, ctx, s.Env, map[string]string{"data.yaml": fmt.Sprintf(flipPolicy, 8),
		"slow.rego": "package holdshort.policy\n\nhold contains {\"code\": \"team.example/Slow\", \"message\": \"slow\"} if input.now_ns + count(numbers.range(1, 3000000)) < 0\n"})
	nothingStarts := func(when string) {
		t.Helper()
		list, err := s.Client.BatchV1().Jobs(s.NS).List(ctx, metav1.ListOptions{})
		must(t, err)
		for i := range list.Items {
			if !*list.Items[i].Spec.Suspend {
				t.Fatalf("%s: %s was started", when, list.Items[i].Name)
			}
		}
	}
	for flip := range 24 {
		must(t, s.SetPolicy(ctx, []map[string]string{held, empty}[flip%2]))
		time.Sleep(500 * time.Millisecond)
		nothingStarts(fmt.Sprintf("flip %d", flip))
	}
	must(t, s.Client.CoreV1().ConfigMaps(stories.Namespace).Delete(ctx, policyConfigMap+"-shadow", metav1.DeleteOptions{}))
	filesInForce(t, ctx, s.Env, held)
	nothingStarts("at the end of the flips")

	quiet := func() string {
		_, version := rolloutSays(ctx, s.Env, "{.metadata.resourceVersion}", "")
		return version
	}
	time.Sleep(2 * time.Second)
	before := quiet()
	time.Sleep(5 * time.Second)
	if after := quiet(); after != before {
		t.Errorf("with nothing new the PolicyRollout was written again: version %s, then %s", before, after)
	}
	filesInForce(t, ctx, s.Env, map[string]string{"data.yaml": fmt.Sprintf(flipPolicy, 4)})
	must(t, stories.Eventually(ctx, 10*time.Second, "four of them start", func(ctx context.Context) (bool, string) {
		out, err := s.Env.Kubectl(ctx, cluster.Admin, "-n", s.NS, "get", "jobs", "-o", "jsonpath={.items[?(@.spec.suspend==false)].metadata.name}")
		return err == nil && len(strings.Fields(out)) == 4, out
	}))
}

func TestWithItsConfigMapDeletedThePolicyStaysInForceAndSaysSo(t *testing.T) {
	ctx, s := scene(t, "roll", fmt.Sprintf(rolloutPolicy, "4"))
	first := activeDigest(t, ctx, s.Env)
	maps := s.Client.CoreV1().ConfigMaps(stories.Namespace)
	was, err := maps.Get(ctx, policyConfigMap, metav1.GetOptions{})
	must(t, err)
	again := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: was.Name, Labels: was.Labels, Annotations: was.Annotations}, Data: was.Data}
	put := func() {
		if _, err := maps.Create(t.Context(), again, metav1.CreateOptions{FieldManager: "helm"}); err != nil {
			t.Error(err)
		}
	}
	must(t, maps.Delete(ctx, policyConfigMap, metav1.DeleteOptions{}))
	defer func() {
		if t.Failed() { // the other tests' policy is in there, too
			put()
		}
	}()
	must(t, stories.Eventually(ctx, 10*time.Second, "it is told", func(ctx context.Context) (bool, string) {
		return rolloutSays(ctx, s.Env, "{.status.candidate.verdict}: {.status.candidate.errors[0].message}; {.status.candidate.reason}",
			"Unavailable: ConfigMap "+stories.Namespace+"/"+policyConfigMap+" is not there. Try: make it, or name others with --policy-config-maps; revision "+first[:12]+" stays in force")
	}))
	s.Manager.Kill()
	must(t, s.Manager.Start(ctx))
	_, err = s.Apply(ctx, job{name: "fits", queue: "roll", pods: 4, gpus: 1, run: "1m"}.yaml())
	must(t, err)
	must(t, s.Running(ctx, "fits", 4))
	put()
	must(t, stories.Eventually(ctx, 10*time.Second, "the source counts again", func(ctx context.Context) (bool, string) {
		return rolloutSays(ctx, s.Env, "{.status.conditions[?(@.type=='PolicyActive')].message}", "the newest policy is in force")
	}))
}
