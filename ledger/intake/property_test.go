package intake_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelpers "k8s.io/component-helpers/resource"
	"pgregory.net/rapid"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// names that a random container asks for, by their effect: a plain resource, a
// device, a huge page size.
func names() []corev1.ResourceName {
	return []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "nvidia.com/gpu", "hugepages-2Mi"}
}

func drawList(t *rapid.T, label string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names()), rapid.ID).Draw(t, label) {
		amount := rapid.Int64Range(0, 9).Draw(t, string(name))
		if name == corev1.ResourceCPU {
			list[name] = *resource.NewMilliQuantity(amount*250, resource.DecimalSI)
			continue
		}
		list[name] = *resource.NewQuantity(amount, resource.DecimalSI)
	}
	return list
}

func drawContainers(t *rapid.T, label string, least int, sidecars bool) []corev1.Container {
	containers := make([]corev1.Container, rapid.IntRange(least, 3).Draw(t, label))
	for i := range containers {
		c := &containers[i]
		c.Resources = corev1.ResourceRequirements{Requests: drawList(t, "requests"), Limits: drawList(t, "limits")}
		if always := corev1.ContainerRestartPolicyAlways; sidecars && rapid.Bool().Draw(t, "sidecar") {
			c.RestartPolicy = &always
		}
	}
	return containers
}

func drawSpec(t *rapid.T) corev1.PodSpec {
	spec := corev1.PodSpec{
		InitContainers: drawContainers(t, "initContainers", 0, true),
		Containers:     drawContainers(t, "containers", 1, false),
	}
	if rapid.Bool().Draw(t, "podLevel") {
		spec.Resources = &corev1.ResourceRequirements{Requests: drawList(t, "podRequests"), Limits: drawList(t, "podLimits")}
	}
	return spec
}

func drawLimitRanges(t *rapid.T) []*corev1.LimitRange {
	ranges := make([]*corev1.LimitRange, rapid.IntRange(0, 3).Draw(t, "limitRanges"))
	for i := range ranges {
		ranges[i] = &corev1.LimitRange{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Default: drawList(t, "default"), DefaultRequest: drawList(t, "defaultRequest"),
			Min: drawList(t, "min"), Max: drawList(t, "max"),
		}}}}
	}
	return ranges
}

func requestsOf(spec corev1.PodSpec, ranges []*corev1.LimitRange) map[string]int64 {
	job := &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}
	return intake.Job(job, intake.Env{LimitRanges: ranges}).PodSets[0].Requests
}

// A pod that says everything itself is counted as the scheduler counts it.
func TestCompletePodsAreCountedAsTheSchedulerCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		spec.Resources = nil
		for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for i := range list {
				list[i].Resources.Limits = nil
			}
		}
		want := map[string]int64{"pods": 1}
		for name, q := range resourcehelpers.PodRequests(&corev1.Pod{Spec: spec}, resourcehelpers.PodResourcesOptions{}) {
			amount, err := policies.Amount(string(name), q)
			if err != nil {
				t.Fatal(err)
			}
			if amount > 0 {
				want[string(name)] = amount
			}
		}
		if diff := cmp.Diff(want, requestsOf(spec, nil)); diff != "" {
			t.Fatalf("(-scheduler +intake):\n%s", diff)
		}
	})
}

// effective is the request of a container after defaulting, written down apart
// from the code under test: the first of request, limit, then of the
// LimitRange's defaultRequest, default, max and min that is there.
func effective(name corev1.ResourceName, c corev1.Container, ranges []*corev1.LimitRange) int64 {
	lists := []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits}
	for _, r := range ranges { // at most one
		item := r.Spec.Limits[0]
		lists = append(lists, item.DefaultRequest, item.Default, item.Max, item.Min)
	}
	for _, list := range lists {
		if q, set := list[name]; set {
			return q.MilliValue()
		}
	}
	return 0
}

// peakOf is the most that a pod holds at any moment: at each init container,
// that one and the sidecars started before it; then all containers and sidecars.
func peakOf(name corev1.ResourceName, spec corev1.PodSpec, ranges []*corev1.LimitRange) int64 {
	most, sidecars := int64(0), int64(0)
	for _, c := range spec.InitContainers {
		most = max(most, sidecars+effective(name, c, ranges))
		if c.RestartPolicy != nil {
			sidecars += effective(name, c, ranges)
		}
	}
	running := sidecars
	for _, c := range spec.Containers {
		running += effective(name, c, ranges)
	}
	return max(most, running)
}

func TestDefaultedPodsHoldTheirPeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		spec.Resources = nil
		ranges := drawLimitRanges(t)
		ranges = ranges[:min(1, len(ranges))]
		want := map[string]int64{"pods": 1}
		for _, name := range names() {
			amount := peakOf(name, spec, ranges)
			if name != corev1.ResourceCPU {
				amount /= 1000
			}
			if amount > 0 {
				want[string(name)] = amount
			}
		}
		if diff := cmp.Diff(want, requestsOf(spec, ranges)); diff != "" {
			t.Fatalf("(-peak +intake):\n%s", diff)
		}
	})
}

// Which LimitRange the API server takes first is not stated, so it may not
// matter to the ledger.
func TestTheOrderOfLimitRangesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, ranges := drawSpec(t), drawLimitRanges(t)
		want := requestsOf(spec, ranges)
		slices.Reverse(ranges)
		if diff := cmp.Diff(want, requestsOf(spec, ranges)); diff != "" {
			t.Fatalf("reversed (-want +got):\n%s", diff)
		}
	})
}

// No input makes an amount negative or the reading panic.
func TestNoAmountIsEverNegative(t *testing.T) {
	extremes := rapid.SampledFrom([]string{"-1", "0", "1n", "1", "-9223372036854775808", "9223372036854775807", "9Ei", "1e30", "-1e30", "0.5", "8E"})
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for i := range list {
				name := rapid.SampledFrom(names()).Draw(t, "name")
				list[i].Resources.Requests[name] = resource.MustParse(extremes.Draw(t, "amount"))
			}
		}
		parallelism := rapid.Int32().Draw(t, "parallelism")
		job := &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: &parallelism, Template: corev1.PodTemplateSpec{Spec: spec}}}
		got := intake.Job(job, intake.Env{LimitRanges: drawLimitRanges(t)})
		for _, list := range []map[string]int64{got.PodSets[0].Requests, got.Policy.Total} {
			for name, amount := range list {
				if amount < 0 {
					t.Fatalf("%s is %d", name, amount)
				}
			}
		}
		for name, amount := range intake.Pod(&corev1.Pod{Spec: spec}, nil).Requests {
			if amount < 0 {
				t.Fatalf("a live pod holds %d of %s", amount, name)
			}
		}
	})
}
