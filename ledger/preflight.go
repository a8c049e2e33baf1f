package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/policies"
)

// Live is every managed Job that is not over, by name, with what the policy in
// force says of it. It is what a candidate is tried on.
func (l *Loop) Live(ctx context.Context) ([]rollout.Live, error) {
	ctx, cancel := context.WithTimeout(ctx, liveWithin)
	defer cancel()
	answer := make(chan []rollout.Live, 1) // the loop never waits for whoever asks
	l.inbox.put(func(b *batch) { b.asked = append(b.asked, answer) })
	select {
	case jobs := <-answer:
		return jobs, nil
	case <-ctx.Done():
		return nil, errors.New("the ledger has not seen the whole cluster yet")
	}
}

// answer those who asked for the Jobs; the values are never written to again, so
// they may be read outside of the loop.
// Until the policy in force has judged all of them, there is nothing to compare
// a candidate with.
func (l *Loop) answer(plan *decide.Result, now time.Time) {
	if len(l.asked) == 0 || len(l.stale) > 0 {
		return
	}
	jobs := make([]rollout.Live, 0, len(l.jobs))
	for _, t := range l.jobs {
		if t.job != nil && !t.job.Finished && !t.job.Deleting {
			live := l.live(t)
			if usage, waits := plan.AskUsage[string(t.raw.UID)]; waits && !live.Admitted {
				live.Hold = &policies.Input{Workload: t.job.Policy, NowNS: now.UnixNano(), Usage: &usage, Capacity: plan.AskCapacity}
			}
			jobs = append(jobs, live)
		}
	}
	slices.SortFunc(jobs, func(a, b rollout.Live) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Input.Workload.UID, b.Input.Workload.UID))
	})
	for _, to := range l.asked {
		to <- jobs
	}
	l.asked = nil
}

func (l *Loop) live(t *tracked) rollout.Live {
	ns, wants := l.namespace(t.raw.Namespace), t.wants
	live := rollout.Live{
		Name:    t.job.Key(),
		Input:   &policies.Input{Workload: t.job.Policy, Namespace: &ns},
		RawJob:  func() (map[string]any, error) { return intake.RawJob(wants) },
		Verdict: t.verdict.Verdict,
	}
	if t.job.Suspended {
		live.Given = l.given(t)
	}
	if why := t.verdict.Reason; why != nil {
		live.Fails, live.Denied = why.Code == reason.PolicyError, why.Code == reason.DeniedByPolicy
	}
	live.Fails = live.Fails || t.mutated.err != nil
	if t.job.Admitted() {
		live.Admitted, live.Queue, live.Holds = true, t.job.Reservation.Queue, holds(t.job.Reservation)
	}
	return live
}

// given is for use outside of the loop.
func (l *Loop) given(t *tracked) policies.Given {
	raw, env, ns := t.raw, l.still(t), l.namespace(t.raw.Namespace)
	return func(m policies.Mutation, wantsRaw bool) (*policies.Input, error) {
		given, _ := intake.Mutate(intake.AsWritten(raw), m)
		in := &policies.Input{Workload: intake.Job(given, env).Policy, Namespace: &ns}
		if !wantsRaw {
			return in, nil
		}
		var err error
		in.Job, err = intake.RawJob(given)
		return in, err
	}
}

// still is env for use outside of the loop. A mutation changes neither class of a Job,
// nor its claims, so those that it has now are all that is looked up.
func (l *Loop) still(t *tracked) intake.Env {
	env, pod := l.env(t), &t.raw.Spec.Template.Spec
	priority := env.PriorityClass(pod.PriorityClassName)
	var runtime *nodev1.RuntimeClass
	if pod.RuntimeClassName != nil {
		runtime = env.RuntimeClass(*pod.RuntimeClassName)
	}
	env.PriorityClass = func(string) *schedulingv1.PriorityClass { return priority }
	env.RuntimeClass = func(string) *nodev1.RuntimeClass { return runtime }
	if env.Claims != nil && len(pod.ResourceClaims) > 0 {
		claimed := env.Claims(t.raw)
		env.Claims = func(*batchv1.Job) intake.Claimed { return claimed }
	}
	if len(pod.Volumes) > 0 {
		mounted := env.Mounted(t.raw)
		env.Mounted = func(*batchv1.Job) intake.Mounted { return mounted }
	}
	return env
}

// holds is what the pods of a reservation ask for, and where.
func holds(r *demand.Reservation) []rollout.Holding {
	var list []rollout.Holding
	for i := range r.PodSets {
		given := &r.PodSets[i]
		total := given.Total()
		for _, name := range total.Names() {
			list = append(list, rollout.Holding{Resource: name, Amount: total[name], Flavors: given.Flavors})
		}
	}
	return list
}
