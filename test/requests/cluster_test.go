//go:build plane

package requests_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/test/plane/cluster"
)

// limitRanges are the LimitRanges of one namespace each.
func limitRanges() map[string]string {
	return map[string]string{
		"none":         ``,
		"limit":        `limits: [{type: Container, default: {cpu: "3", memory: 8G}}]`,
		"request":      `limits: [{type: Container, defaultRequest: {memory: 1Gi, cpu: 100m}}]`,
		"crossed":      `limits: [{type: Container, default: {cpu: "3"}, defaultRequest: {memory: 1Gi}}]`,
		"largest":      `limits: [{type: Container, max: {cpu: "4", memory: 16G}}]`,
		"least":        `limits: [{type: Container, min: {cpu: 1m, ephemeral-storage: 1Mi}}]`,
		"pages":        `limits: [{type: Container, default: {hugepages-2Mi: 4Mi, nvidia.com/gpu: "1", cpu: "2"}}]`,
		"several":      `limits: [{type: Container, default: {memory: 7G, cpu: "1"}, defaultRequest: {cpu: 50m}}, {type: Pod, max: {cpu: "40"}}]`,
		"pods-at-most": `limits: [{type: Pod, max: {memory: 1G}}]`,
	}
}

const runtimeClasses = `
- {metadata: {name: plain}, handler: runc}
- metadata: {name: kata}
  handler: kata
  overhead: {podFixed: {memory: 160Mi, cpu: 250m}}
  scheduling: {nodeSelector: {runtime: kata}, tolerations: [{key: kata, operator: Exists}, {key: kata-only, value: "yes"}]}`

// fixture is a plane with the namespaces and classes, and the same as the
// ledger would see it.
type fixture struct {
	*cluster.Cluster
	ranges  map[string][]*corev1.LimitRange
	classes map[string]*nodev1.RuntimeClass
	early   bool // it fills in the pod level before LimitRanges
}

func start(t *testing.T, ctx context.Context, options cluster.Options) *fixture {
	t.Helper()
	options.Log = os.Stderr
	c, err := cluster.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{Cluster: c, ranges: map[string][]*corev1.LimitRange{}, classes: map[string]*nodev1.RuntimeClass{}, early: options.EmulatedVersion != ""}
	if err := f.fill(ctx); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) fill(ctx context.Context) error {
	var classes []nodev1.RuntimeClass
	if err := yaml.UnmarshalStrict([]byte(runtimeClasses), &classes); err != nil {
		return err
	}
	for i := range classes {
		made, err := f.Client.NodeV1().RuntimeClasses().Create(ctx, &classes[i], metav1.CreateOptions{})
		if err != nil {
			return err
		}
		f.classes[made.Name] = made
	}
	for name, text := range limitRanges() {
		if err := f.Namespace(ctx, name); err != nil {
			return err
		}
		if text == "" {
			continue
		}
		lr := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "lr"}}
		if err := yaml.UnmarshalStrict([]byte(text), &lr.Spec); err != nil {
			return err
		}
		made, err := f.Client.CoreV1().LimitRanges(name).Create(ctx, lr, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("LimitRange of %s: %w", name, err)
		}
		f.ranges[name] = []*corev1.LimitRange{made}
	}
	// The API server's own view of LimitRanges lags a moment behind.
	return f.settle(ctx)
}

// settle waits until a new pod is defaulted in every namespace that defaults.
func (f *fixture) settle(ctx context.Context) error {
	deadline := time.Now().Add(30 * time.Second)
	bare := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bare-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "registry.example/train"}}},
	}
	for name := range f.ranges {
		for {
			pod, err := f.Client.CoreV1().Pods(name).Create(ctx, bare, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if apierrors.IsForbidden(err) || (err == nil && len(pod.Spec.Containers[0].Resources.Requests) > 0) {
				break // refused by the LimitRange, or defaulted by it
			}
			if err == nil {
				err = errors.New("a pod came back as it was sent")
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("namespace %s does not default pods: %w", name, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

func (f *fixture) env(namespace string) intake.Env {
	return intake.Env{
		LimitRanges:   f.ranges[namespace],
		RuntimeClass:  func(name string) *nodev1.RuntimeClass { return f.classes[name] },
		PodLevelEarly: f.early,
	}
}
