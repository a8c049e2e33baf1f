package reason

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// The constructors below are why a Job is not in line at all.

// NoPolicy is that no policy is in force.
func NoPolicy() Reason {
	return Reason{Code: PolicyUnavailable, Message: "no policy is in force, so nothing is admitted. Try: kubectl get policyrollouts"}
}

// NotJudged is that the policy has not been asked about the Job yet.
func NotJudged() Reason {
	return Reason{Code: CatchingUp, Message: "the policy has not been asked about it yet"}
}

// OwnerHolds is the owner's own wish.
func OwnerHolds() Reason {
	return Reason{Code: HeldByOwner, Message: "annotation holdshort.dev/hold is set. Try: remove it"}
}

// OperatorHolds is that the whole queue is stopped.
func OperatorHolds(queue string) Reason {
	return Reason{Code: QueueHeld, Message: fmt.Sprintf("queue %s is held by an operator (spec.hold of the Queue)", queue)}
}

// OperatorDrains is that the whole queue is stopped, and nothing is to run there.
func OperatorDrains(queue string) Reason {
	return Reason{Code: QueueHeld, Message: fmt.Sprintf("queue %s is held and drained by an operator (spec.hold of the Queue)", queue)}
}

// NoSuchQueue is a queue that the policy does not have.
func NoSuchQueue(queue string, have []string) Reason {
	if queue == "" {
		return Reason{Code: UnknownQueue, Message: "the policy gives it no queue. Try: label holdshort.dev/queue with one of " + few(have)}
	}
	return Reason{Code: UnknownQueue, Message: fmt.Sprintf("the policy has no queue %s. Try: label holdshort.dev/queue with one of %s", queue, few(have))}
}

// NotAccepted is a queue that does not take Jobs of the namespace.
func NotAccepted(queue, namespace string) Reason {
	return Reason{Code: UnknownQueue, Message: fmt.Sprintf("queue %s takes no Jobs of namespace %s. Try: another queue, or have namespaces of the queue changed",
		queue, namespace)}
}

// NoPods is a Job that asks for nothing.
func NoPods() Reason {
	return Reason{Code: BadRequest, Message: "it asks for no pods (spec.parallelism: 0, or nothing left to do). Try: set spec.parallelism"}
}

// NotKnown is resources that neither a quota nor the policy's lists name; have
// are the queues whose quotas name them. They exist if a node has them, or a class of
// devices is charged so.
func NotKnown(queue string, resources, have []string, exist bool) Reason {
	try := fmt.Sprintf("have it given a quota (queues.%s.quota of the policy), or listed under resources.unlimited", queue)
	switch {
	case len(have) > 0:
		try = fmt.Sprintf("a queue that has a quota of it (%s), or have %s given one", few(have), queue)
	case !exist:
		try = "correct the name, since no node has it; or " + try
	}
	return Reason{Code: UnknownResource, Message: fmt.Sprintf("%s: not in a quota of %s, nor listed under resources in the policy. Try: %s",
		strings.Join(resources, ", "), queue, try)}
}

// ChargedAs is a resource and what is charged instead of it.
func ChargedAs(name string, instead []string) string {
	return name + " (charged as " + and(instead) + ")"
}

// NoFlavors is a queue or a verdict without any flavor.
func NoFlavors(queue string) Reason {
	return Reason{Code: NoMatchingFlavor, Message: fmt.Sprintf("the policy allows it no flavor of queue %s", queue)}
}

// NoSuchFlavor is a queue that names a flavor which the policy does not have.
func NoSuchFlavor(queue, flavor string) Reason {
	return Reason{Code: UnknownQueue, Message: fmt.Sprintf("queue %s names the flavor %s, which the policy does not have", queue, flavor)}
}

// OtherLabel is a flavor whose label contradicts what the pods select.
func OtherLabel(flavor, key, has, wants string) Reason {
	return Reason{Code: NoMatchingFlavor, Message: fmt.Sprintf("flavor %s has %s=%s, the pods select %s", flavor, key, has, wants)}
}

// OtherMachines is a flavor whose labels contradict those of the flavor that the
// pods have for other resources.
func OtherMachines(flavor string) Reason {
	return Reason{Code: NoMatchingFlavor, Message: fmt.Sprintf("flavor %s has other node labels than the flavor that the same pods get for their other resources", flavor)}
}

// noLevel is what helps a Job that asks for a level in vain.
const noLevel = advice + "a level that a flavor of the queue has, or leave out the annotation required-topology or preferred-topology"

// NoSuchLevel is a flavor whose topology lacks the level that the Job asks for.
func NoSuchLevel(flavor, level string, levels []string) Reason {
	has := fmt.Sprintf("flavor %s has no topology", flavor)
	if len(levels) > 0 {
		has = fmt.Sprintf("the topology of flavor %s is %s", flavor, strings.Join(levels, ", "))
	}
	return Reason{Code: NoMatchingFlavor, Message: fmt.Sprintf("%s, and the Job asks for the level %s. %s", has, level, noLevel)}
}

// UncheckedLevel is a flavor whose machines are not looked at, so that nobody knows what
// is free in which part of them.
func UncheckedLevel(flavor, level string) Reason {
	return Reason{Code: NoMatchingFlavor, Message: fmt.Sprintf("the machines of flavor %s are not looked at (verify: none), and the Job asks for the level %s. %s", flavor, level, noLevel)}
}

// NotTolerated is a flavor whose taint nobody tolerates.
func NotTolerated(flavor, taint string) Reason {
	return Reason{Code: NoMatchingFlavor, Message: fmt.Sprintf("flavor %s has taint %s, which the pods don't tolerate", flavor, taint)}
}

// GivenUp is that it was taken back as often as it may be.
func GivenUp(attempts int64, why string) Reason {
	return Reason{Code: GaveUp, Message: takenBack(attempts, why) + ", and not tried again (limitCount of the queue's backoff). " +
		"Try: change the Job, or set the annotation holdshort.dev/hold and remove it once the Job says HeldByOwner"}
}

// GivingUp is the same at the moment when it happens, with what went wrong.
func GivingUp(last Reason, attempts int64, why string) Reason {
	r := GivenUp(attempts, why)
	what, _, _ := strings.Cut(last.Message, ". "+advice)
	r.Message = what + "; " + r.Message
	return r
}

// The constructors below are why a running Job is taken back.

// OwnTimeIsUp is that it has run as long as its user lets it.
func OwnTimeIsUp(annotation string, ran, most int64) Reason {
	return Reason{Code: OutOfTime, Message: fmt.Sprintf("it has run for %s in all, and its annotation %s lets it run for %s. "+
		"Try: raise that, or delete the Job", duration(ran), annotation, duration(most))}
}

// PolicysTimeIsUp is that it has run as long as the policy lets it.
func PolicysTimeIsUp(ran, most int64) Reason {
	return Reason{Code: OutOfTime, Message: fmt.Sprintf("it has run for %s in all, and the policy lets it run for %s (classify.maxRuntimeSeconds). "+
		"Try: delete the Job, and make smaller ones of it", duration(ran), duration(most))}
}

// TimeIsUp is that it has run as long as it might when it started; since then it
// was given more.
func TimeIsUp(ran, most int64) Reason {
	return Reason{Code: OutOfTime, Message: fmt.Sprintf("it has run for %s in all, and when it started it might run for %s; "+
		"what it was given since counts when it starts again", duration(ran), duration(most))}
}

// duration of seconds, as people write it: 1h30m0s.
func duration(seconds int64) string {
	const most = int64(math.MaxInt64 / time.Second)
	return (time.Duration(min(max(0, seconds), most)) * time.Second).String()
}

// NotPlaced is that pods found no node in time, and who has taken it since, if somebody
// did who was not queued.
func NotPlaced(unbound, seconds int64, took []Stranger) Reason {
	return Reason{Code: BackingOff, Message: fmt.Sprintf("%s found no node within %d s%s", Pods(unbound), seconds, room(took))}
}

// NoneAdded is that pods waited for an autoscaler in vain.
func NoneAdded(unbound int64, flavors []string, seconds int64) Reason {
	return Reason{Code: BackingOff, Message: fmt.Sprintf("%s found no node of %s within %d s, and none was added for them",
		Pods(unbound), and(flavors), seconds)}
}

// NoPodMade is that the Job controller could make no pod at all.
func NoPodMade(seconds int64) Reason {
	return Reason{Code: BackingOff, Message: fmt.Sprintf("no pod of it could be made within %d s. Try: kubectl describe job (a ResourceQuota or an invalid template)", seconds)}
}

// NotReady is that the pods were not all ready in time.
func NotReady(ready, count, seconds int64) Reason {
	return Reason{Code: BackingOff, Message: fmt.Sprintf("only %d of %s ready within %d s", ready, Pods(count), seconds)}
}

// NotRecovered is that a gang lost pods, and was not whole again in time, and who has
// taken the room of those.
func NotRecovered(ready, count, seconds int64, took []Stranger) Reason {
	return Reason{Code: BackingOff, Message: fmt.Sprintf("only %d of %s ready, and not all of them again within %d s%s", ready, Pods(count), seconds, room(took))}
}

// NotAdmitted is a Job that runs though the ledger never let it.
func NotAdmitted(queue string) Reason {
	return Reason{Code: BehindOthers, Message: fmt.Sprintf("it ran without having been admitted; it waits in queue %s like any other", queue)}
}

// few lists names, not too many.
func few(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + counted(int64(len(names)-most), "other")
	}
	return strings.Join(names, ", ")
}

// Displaced is that another Job takes its place, by what right.
func Displaced(by, right string) Reason {
	return Reason{Code: Preempted, Message: fmt.Sprintf("it makes room for %s (%s)", by, right)}
}

// RoomComes is that so many Jobs were taken back for it, and are not gone yet; with
// none, that others are going anyway.
func RoomComes(jobs int) Reason {
	if jobs == 0 {
		return Reason{Code: MakingRoom, Message: "there is room for it once pods of others are gone that are ending"}
	}
	return Reason{Code: MakingRoom, Message: fmt.Sprintf("%s taken back for it, pods not gone yet", counted(int64(jobs), "Job"))}
}
