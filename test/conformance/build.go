package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	quantity "k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdshort/holdshort/ledger/book"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// revision stands for the digest of the policy.
const revision = "conformance"

// world is a case as the deciding core sees it.
type world struct {
	queues     map[string]caseQueue
	catalog    *policies.Catalog
	jobs       map[string]*demand.Job // as they wait, by UID
	verdicts   map[string]decide.Outcome
	namespaces map[string]map[string]string
	book       *book.Book
	running    map[string]*demand.Reservation // by UID
}

func build(c testCase) (*world, error) {
	w := &world{
		queues: map[string]caseQueue{}, jobs: map[string]*demand.Job{}, verdicts: map[string]decide.Outcome{},
		namespaces: map[string]map[string]string{}, book: book.New(), running: map[string]*demand.Reservation{},
	}
	var err error
	if w.catalog, err = catalog(c); err != nil {
		return nil, err
	}
	for _, q := range c.Queues {
		w.queues[q.Name] = q
	}
	for _, j := range slices.Concat(c.Held, c.Waiting) {
		if err := w.addJob(j); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func catalog(c testCase) (*policies.Catalog, error) {
	all := &policies.Catalog{
		Flavors: map[string]policies.Flavor{}, Queues: map[string]policies.Queue{}, Cohorts: map[string]policies.Cohort{},
		FairSharing: c.FairSharing,
		// What no group covers blocks a Job; pods that nobody limits are free.
		Resources: policies.ResourceRules{Unlimited: []string{resource.Pods}},
	}
	for _, f := range c.Flavors {
		all.Flavors[f.Name] = policies.Flavor{NodeLabels: f.NodeLabels, Taints: f.Taints, Tolerations: f.Tolerations}
	}
	for _, one := range c.Cohorts {
		made, err := cohort(one)
		if err != nil {
			return nil, err
		}
		all.Cohorts[one.Name] = made
	}
	for _, one := range c.Queues {
		made, err := queue(one)
		if err != nil {
			return nil, err
		}
		all.Queues[one.Name] = made
	}
	return all, nil
}

func cohort(c caseCohort) (policies.Cohort, error) {
	made := policies.Cohort{Parent: c.Parent, Weight: c.Weight, Quota: map[string]map[string]policies.Limit{}}
	for _, q := range c.Quotas {
		if err := setLimit(made.Quota, q.Flavor, q.Resource, q.caseQuota); err != nil {
			return made, fmt.Errorf("cohort %s: %w", c.Name, err)
		}
	}
	return made, nil
}

func queue(c caseQueue) (policies.Queue, error) {
	made := policies.Queue{
		Namespaces: policies.NamespaceRule{All: true}, Cohort: c.Cohort, Strategy: c.Strategy, Weight: c.Weight,
		Fungibility: c.Fungibility, Preemption: c.Preemption, Quota: map[string]map[string]policies.Limit{},
	}
	for _, g := range c.Groups {
		group := policies.Group{Resources: g.Resources}
		for _, f := range g.Flavors {
			group.Flavors = append(group.Flavors, f.Name)
			if !slices.Contains(made.Flavors, f.Name) {
				made.Flavors = append(made.Flavors, f.Name)
			}
			for name, q := range f.Quotas {
				if err := setLimit(made.Quota, f.Name, name, q); err != nil {
					return made, fmt.Errorf("queue %s: %w", c.Name, err)
				}
			}
		}
		made.Groups = append(made.Groups, group)
	}
	return made, nil
}

func setLimit(quota map[string]map[string]policies.Limit, flavor, name string, q caseQuota) error {
	if quota[flavor] == nil {
		quota[flavor] = map[string]policies.Limit{}
	}
	nominal, err := amount(name, q.Nominal)
	if err != nil {
		return err
	}
	limit := policies.Limit{Nominal: nominal}
	if limit.BorrowingLimit, err = optional(name, q.BorrowingLimit); err != nil {
		return err
	}
	if limit.LendingLimit, err = optional(name, q.LendingLimit); err != nil {
		return err
	}
	quota[flavor][name] = limit
	return nil
}

func optional(name string, text *string) (*int64, error) {
	if text == nil {
		return nil, nil
	}
	n, err := amount(name, *text)
	return &n, err
}

// amount is held at what can be counted, as the intake holds what Jobs ask for.
func amount(name, text string) (int64, error) {
	q, err := quantity.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", name, text, err)
	}
	n, err := policies.Amount(name, q)
	if err != nil && q.Sign() > 0 {
		return resource.Limit, nil
	}
	return n, err
}

func (w *world) addJob(c caseJob) error {
	namespace, name, ok := strings.Cut(c.Name, "/")
	if !ok {
		return fmt.Errorf("job %q has no namespace. Try: NAMESPACE/NAME", c.Name)
	}
	created := c.Created.UnixNano()
	j := &demand.Job{
		UID: c.UID, Namespace: namespace, Name: name, Queue: c.Queue, Created: created,
		Arrival: demand.Arrival{Effective: created, Stamp: created, Stamped: true}, Suspended: true,
	}
	held := demand.Reservation{UID: c.UID, Queue: c.Queue, Revision: revision, Time: c.ReservedAt.UnixNano()}
	for _, ps := range c.PodSets {
		requests := resource.List{resource.Pods: 1}
		for resourceName, text := range ps.Requests {
			n, err := amount(resourceName, text)
			if err != nil {
				return fmt.Errorf("job %s: %w", c.Name, err)
			}
			requests[resourceName] = n
		}
		j.PodSets = append(j.PodSets, demand.PodSet{
			Name: ps.Name, Count: ps.Count, MinCount: ps.MinCount, Requests: requests,
			Place: demand.Place{NodeSelector: ps.NodeSelector, Tolerations: ps.Tolerations},
		})
		held.PodSets = append(held.PodSets, demand.ReservedPodSet{
			Name: ps.Name, Count: ps.Count, Requests: requests, Flavors: withPods(ps.Flavors),
		})
	}
	w.jobs[c.UID] = j
	w.verdicts[c.UID] = decide.Outcome{Verdict: policies.Verdict{Queue: c.Queue, Priority: c.Priority}}
	w.namespaces[namespace] = map[string]string{}
	if !c.ReservedAt.IsZero() {
		return w.run(j, held)
	}
	w.book.SetJob(j)
	return nil
}

// withPods says where the pods are: where the first of their resources is, if the
// case does not say.
func withPods(flavors map[string]string) map[string]string {
	all := maps.Clone(flavors)
	if _, ok := all[resource.Pods]; ok || len(all) == 0 {
		return all
	}
	all[resource.Pods] = all[slices.Min(slices.Collect(maps.Keys(all)))]
	return all
}

// run lets a Job go with what it was given.
func (w *world) run(j *demand.Job, r demand.Reservation) error {
	if len(r.PodSets) != len(j.PodSets) {
		return fmt.Errorf("%s has %d pod sets and was given room for %d", j.Key(), len(j.PodSets), len(r.PodSets))
	}
	running := *j
	running.Suspended, running.Started, running.Reservation = false, true, &r
	running.PodSets = slices.Clone(j.PodSets)
	for i := range running.PodSets {
		running.PodSets[i].Count = r.PodSets[i].Count
	}
	w.running[j.UID] = &r
	w.book.SetJob(&running)
	return nil
}

// wait has a Job wait again, as it did before it was let go.
func (w *world) wait(uid string) {
	delete(w.running, uid)
	w.book.SetJob(w.jobs[uid])
}
