package ledger

import (
	"maps"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

// tracked is what the loop remembers of one managed Job beside the book. All
// of it can be made again from the object.
type tracked struct {
	raw       *batchv1.Job
	version   uint64
	job       *demand.Job
	firstSeen time.Time // as a Job of ours
	counted   bool      // in the history of runs

	wants   *batchv1.Job // what job was read from: raw, or as mutate wants it
	mutated mutated

	verdict     decide.Outcome
	verdictFrom verdictSource
	judgeFails  error

	slow     bool      // the policy took long over it
	lateTill time.Time // too long: not asked again before

	heldTill time.Time // a hold rule's "no" stands till then

	waits      decide.Brief // the reason of the last plan
	waitsSince time.Time
	toldOf     string // the queue that the reason on it is about; empty: not known
	reworded   bool   // what is on it names something that is there by now
	problem    string // what couldn't be counted of it when that was last so

	refusals int       // in a row, by the API server
	notTill  time.Time // not admitted before, after a refusal
	refusal  string

	mutings   int       // the same of what is written about why it waits
	mutedTill time.Time // nothing more is written before
}

// world is the rest of the cluster as the loop last saw it.
type world struct {
	namespaces      map[string]*corev1.Namespace
	labels          map[string]map[string]string             // of the namespaces
	limitRanges     map[string]map[string]*corev1.LimitRange // namespace → name
	runtimeClasses  map[string]*nodev1.RuntimeClass
	priorityClasses map[string]*schedulingv1.PriorityClass
	queues          map[string]*v1alpha1.Queue
	resourceQuotas  map[types.NamespacedName]*corev1.ResourceQuota
}

func newWorld() world {
	return world{
		namespaces:      map[string]*corev1.Namespace{},
		labels:          map[string]map[string]string{},
		limitRanges:     map[string]map[string]*corev1.LimitRange{},
		runtimeClasses:  map[string]*nodev1.RuntimeClass{},
		priorityClasses: map[string]*schedulingv1.PriorityClass{},
		queues:          map[string]*v1alpha1.Queue{},
		resourceQuotas:  map[types.NamespacedName]*corev1.ResourceQuota{},
	}
}

// observe brings a batch into the book. Machines and pods come first, so that a
// Job is never counted before the pods it already has.
func (l *Loop) observe(b batch) {
	for name, node := range b.nodes {
		if node == nil {
			l.book.DeleteNode(name)
			l.devices.state.DeleteNode(name)
		} else {
			l.book.SetNode(intake.Node(node))
			l.devices.state.SetNode(name, node.Labels)
		}
	}
	l.devices.observe(b.devices)
	if len(b.devices.classes) > 0 {
		l.extend()
	}
	l.volumes.observe(b.volumes)
	for uid, change := range b.pods {
		l.observePod(uid, change, b.jobs)
	}
	l.dropGhosts()
	l.observeWorld(b)
	l.observeResourceQuotas(b)
	for uid, job := range b.jobs {
		if job == nil {
			l.dropJob(uid, b.last[uid])
		} else {
			l.observeJob(job)
		}
	}
	l.observeDevices()
	l.settleVolumes()
	for _, w := range b.written {
		l.observeWritten(w)
	}
	for _, w := range b.queueWritten {
		l.observeQueueWritten(w)
	}
	l.observeStarts(b.starts)
}

// observeWorld updates what Jobs are read by, and reads again those that it may
// change. Running Jobs keep what they were admitted with.
func (l *Loop) observeWorld(b batch) {
	update(l.world.namespaces, b.namespaces)
	update(l.world.runtimeClasses, b.runtimeClasses)
	update(l.world.priorityClasses, b.priorityClasses)
	update(l.world.queues, b.queues)
	for name := range b.queues {
		l.toPublish[name] = true
	}
	stale := map[string]bool{} // namespaces
	for name, lr := range b.limitRanges {
		in := l.world.limitRanges[name.Namespace]
		if in == nil {
			in = map[string]*corev1.LimitRange{}
			l.world.limitRanges[name.Namespace] = in
		}
		update(in, map[string]*corev1.LimitRange{name.Name: lr})
		stale[name.Namespace] = true
	}
	for name, ns := range b.namespaces {
		stale[name] = true
		delete(l.world.labels, name)
		if ns != nil {
			l.world.labels[name] = ns.Labels
		}
	}
	all := len(b.runtimeClasses) > 0 || len(b.priorityClasses) > 0
	if !all && len(stale) == 0 {
		return
	}
	for _, t := range l.jobs {
		if all || stale[t.raw.Namespace] {
			l.readJob(t)
		}
	}
}

func update[K comparable, V any](have, news map[K]*V) {
	for key, value := range news {
		if value == nil {
			delete(have, key)
		} else {
			have[key] = value
		}
	}
}

// observeJob takes a Job's newest state; an older one than is known is an echo.
func (l *Loop) observeJob(raw *batchv1.Job) {
	version := resourceVersion(raw)
	t := l.jobs[raw.UID]
	if t == nil {
		t = &tracked{}
		l.jobs[raw.UID] = t
	} else if version < t.version {
		return
	}
	t.raw, t.version = raw, version
	l.readJob(t)
	l.observeEnd(t)
}

// readJob makes the plain value of a Job and books it.
func (l *Loop) readJob(t *tracked) {
	l.stale[t.raw.UID] = t
	if !intake.Managed(t.raw, l.namespace(t.raw.Namespace), l.Scope) {
		t.job = nil
		l.book.DeleteJob(string(t.raw.UID))
		l.forgetClaims(t.raw.UID)
		return
	}
	if t.job == nil {
		t.firstSeen = l.Now()
	}
	l.take(t, t.raw, nil)
}

// take makes the plain value of a Job, as it is or as mutate wants it, and books it.
func (l *Loop) take(t *tracked, job *batchv1.Job, mutated *demand.Mutated) {
	t.wants, t.job = job, intake.Job(job, l.env(t))
	l.reword(t)
	l.runsNow(t)
	t.job.Mutated = mutated
	l.book.SetJob(t.job)
}

// dropJob takes a Job away. What it was at last tells which pods of it may still come.
func (l *Loop) dropJob(uid types.UID, last *batchv1.Job) {
	t := l.jobs[uid]
	if t == nil {
		return
	}
	if last != nil {
		l.observeJob(last)
	}
	delete(l.jobs, uid)
	delete(l.refused, uid)
	delete(l.late, uid)
	delete(l.starts.first, string(uid))
	l.forgetClaims(uid)
	l.stale[uid] = t // so that what was said of it goes too
	l.book.DeleteJob(string(uid))
}

func (l *Loop) env(t *tracked) intake.Env {
	ranges := l.world.limitRanges[t.raw.Namespace]
	list := make([]*corev1.LimitRange, 0, len(ranges))
	for _, name := range sortedKeys(ranges) {
		list = append(list, ranges[name])
	}
	env := intake.Env{
		LimitRanges:   list,
		RuntimeClass:  func(name string) *nodev1.RuntimeClass { return l.world.runtimeClasses[name] },
		PriorityClass: l.priorityClass,
		PodLevelEarly: l.PodLevelEarly,
		PerDevice:     l.perDevice,
		Mounted:       l.mounted,
		FirstSeen:     t.firstSeen.UnixNano(),
	}
	if l.DRA.Claims {
		env.Claims = l.claimed
	}
	return env
}

// priorityClass finds a class by name, or the global default for the empty name.
func (l *Loop) priorityClass(name string) *schedulingv1.PriorityClass {
	if name != "" {
		return l.world.priorityClasses[name]
	}
	return intake.GlobalDefault(maps.Values(l.world.priorityClasses))
}

func (l *Loop) namespace(name string) policies.Namespace {
	ns := policies.Namespace{Name: name}
	if found := l.world.namespaces[name]; found != nil {
		ns.Labels = found.Labels
	}
	return ns
}

// resourceVersion as a number; the API server hands them out in order.
func resourceVersion(job *batchv1.Job) uint64 {
	version, err := strconv.ParseUint(job.ResourceVersion, 10, 64)
	if err != nil {
		return 0 // not a number: every state counts as new
	}
	return version
}
