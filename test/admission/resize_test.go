//go:build plane

package admission_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// resizing: a running pod is not given more than its Job was.
func (w *world) resizing(t *testing.T) {
	ctx := t.Context()
	name := "resized"
	job := newJob(name)
	job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
	}
	w.queue(t, job)
	w.admit(t, name)
	pod := w.podOf(t, name)
	resize := func(as kubernetes.Interface, pod, requests string) error {
		text := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","resources":{"requests":{%s}}}]}}`, requests)
		_, err := as.CoreV1().Pods("research").Patch(ctx, pod, types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{}, "resize")
		return err
	}
	annotate := func(as kubernetes.Interface, value string) error {
		text := fmt.Sprintf(`{"metadata":{"annotations":{"holdshort.dev/bypass":%s}}}`, value)
		_, err := as.CoreV1().Pods("research").Patch(ctx, pod.Name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	// As a kubelet says that it can resize.
	const able = `{"status":{"containerStatuses":[{"name":"main","resources":{"requests":{"cpu":"500m","memory":"64Mi"}}}]}}`
	eventually(t, "the pod to run", func() error {
		if pod = w.podOf(t, name); pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return nil
	})
	if _, err := w.admin.CoreV1().Pods("research").Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(able), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	const grows = "what it would grow by was not given to it"
	refused(t, resize(w.admin, pod.Name, `"cpu":"20"`), grows)
	refused(t, resize(w.admin, pod.Name, `"cpu":"501m"`), grows)
	refused(t, resize(w.admin, pod.Name, `"cpu":"100m","memory":"65Mi"`), grows)
	refused(t, resize(w.admin, pod.Name, `"cpu":"0.4","memory":"65536Ki"`), "")
	refused(t, resize(w.admin, pod.Name, `"cpu":"0.5"`), grows)
	refused(t, annotate(w.alice, `"please"`), "is for holders of the verb")
	refused(t, annotate(w.admin, `" "`), "says why")
	refused(t, annotate(w.admin, `"outage"`), "")
	refused(t, resize(w.admin, pod.Name, `"cpu":"1"`), "")
	refused(t, annotate(w.alice, `"mine"`), "is for holders of the verb")
	refused(t, annotate(w.alice, `null`), "")
	refused(t, resize(w.admin, pod.Name, `"cpu":"2"`), grows)

	free := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "free", Labels: map[string]string{"holdshort.dev/queue": "q"}}, Spec: job.Spec.Template.Spec}
	if _, err := w.alice.CoreV1().Pods("research").Create(ctx, free, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := resize(w.admin, "free", `"cpu":"20"`); err != nil && strings.Contains(err.Error(), "holdshort") {
		t.Errorf("a pod that is charged to nobody: %v", err)
	}
}
