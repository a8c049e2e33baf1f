package author

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// Entry is an entrypoint's time, over all of the samples.
type Entry struct {
	Name    string
	Runs    int
	Mean    time.Duration
	Slowest time.Duration
	// Failed is the first error, if there was one; it counts as time all the same.
	Failed error
}

// Sample is a workload to ask about, and what it stands for.
type Sample struct {
	Name  string
	Input *policies.Input
}

// Bench asks each entrypoint about all samples, again and again, for so long. It
// begins with what compiling the bundle takes, catalog included.
func Bench(ctx context.Context, bundle engine.Bundle, samples []Sample, each time.Duration) ([]Entry, error) {
	revision, err := engine.Compile(ctx, bundle, engine.Options{})
	if err != nil {
		return nil, err
	}
	if len(samples) == 0 {
		samples = Samples(revision.Catalog(), time.Now())
	}
	entries := []Entry{measure("activate", each, func(int) error {
		_, err := engine.Compile(ctx, bundle, engine.Options{})
		return err
	})}
	asked := []struct {
		name string
		ask  func(*policies.Input) error
	}{
		{"classify", func(in *policies.Input) error { _, err := revision.Classify(ctx, in); return err }},
		{"mutate", func(in *policies.Input) error { _, err := revision.Mutate(ctx, in); return err }},
		{"deny", func(in *policies.Input) error { _, err := revision.Deny(ctx, in); return err }},
		{"warn", func(in *policies.Input) error { _, err := revision.Warn(ctx, in); return err }},
		{"hold", func(in *policies.Input) error { _, err := revision.Hold(ctx, in); return err }},
	}
	for _, entry := range asked {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("measuring the policy: %w", err)
		}
		entries = append(entries, measure(entry.name, each, func(i int) error {
			return entry.ask(samples[i%len(samples)].Input)
		}))
	}
	return entries, nil
}

// measure runs f at least twice: the first run warms up and does not count.
func measure(name string, each time.Duration, f func(int) error) Entry {
	entry := Entry{Name: name, Failed: f(0)}
	begun := time.Now()
	for total := time.Duration(0); total < each || entry.Runs == 0; entry.Runs++ {
		before := time.Now()
		if err := f(entry.Runs); err != nil && entry.Failed == nil {
			entry.Failed = err
		}
		after := time.Now()
		entry.Slowest = max(entry.Slowest, after.Sub(before))
		total = after.Sub(begun)
		entry.Mean = total / time.Duration(entry.Runs+1)
	}
	return entry
}

// Samples are one small and one full workload for each queue: what asks for one
// unit of each resource that the quota names, and what asks for all of it.
func Samples(catalog *policies.Catalog, now time.Time) []Sample {
	var samples []Sample
	for _, name := range slices.Sorted(maps.Keys(catalog.Queues)) {
		queue := catalog.Queues[name]
		small, full := map[string]int64{"cpu": 1000}, map[string]int64{"cpu": 1000}
		for _, flavor := range slices.Sorted(maps.Keys(queue.Quota)) {
			for resource, limit := range queue.Quota[flavor] {
				small[resource] = min(1, limit.Nominal)
				full[resource] = max(full[resource], limit.Nominal)
			}
		}
		samples = append(samples, sample(name+", small", name, queue, small, now), sample(name+", full", name, queue, full, now))
	}
	if len(samples) == 0 {
		samples = append(samples, sample("no queue", "", policies.Queue{}, map[string]int64{"cpu": 1000}, now))
	}
	return samples
}

func sample(title, queue string, q policies.Queue, requests map[string]int64, now time.Time) Sample {
	namespace := &policies.Namespace{Name: "default", Labels: maps.Clone(q.Namespaces.Labels)}
	if len(q.Namespaces.Names) > 0 {
		namespace.Name = q.Namespaces.Names[0]
	}
	usage, capacity := policies.ResourceUsage{}, map[string]policies.FlavorCapacity{}
	for _, flavor := range q.Flavors {
		capacity[flavor] = policies.FlavorCapacity{}
		for resource, amount := range requests {
			if usage[resource] == nil {
				usage[resource] = map[string]policies.UsageAmount{}
			}
			nominal := q.Quota[flavor][resource].Nominal
			usage[resource][flavor] = policies.UsageAmount{Nominal: nominal, Limit: nominal}
			capacity[flavor][resource] = policies.CapacityAmount{Allocatable: 2 * amount, Free: amount, LargestSlot: amount}
		}
	}
	job := map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "sample", "namespace": namespace.Name},
		"spec": map[string]any{"parallelism": 1, "template": map[string]any{"spec": map[string]any{"restartPolicy": "Never"}}},
	}
	return Sample{Name: title, Input: &policies.Input{
		Workload: &policies.Workload{
			UID: "00000000-0000-0000-0000-000000000000", Name: "sample", Namespace: namespace.Name, Kind: "Job",
			Labels: map[string]string{policies.LabelQueue: queue}, Annotations: map[string]string{},
			Queue: queue, User: "sample@team.example", ArrivalNS: now.UnixNano(), CreatedNS: now.UnixNano(),
			PodSets: []policies.PodSet{{Name: "main", Count: 1, Requests: requests}}, Total: requests,
		},
		Namespace: namespace, Job: job,
		Request: &policies.Request{Operation: "CREATE", User: "sample@team.example"},
		Verdict: &policies.VerdictInput{Queue: queue, Flavors: q.Flavors, User: "sample@team.example"},
		Usage:   &policies.Usage{Queue: usage, Cohort: usage, User: usage}, Capacity: capacity, NowNS: now.UnixNano(),
	}}
}
