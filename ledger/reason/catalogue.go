package reason

import "slices"

// Group is a kind of reason; when several apply, the first group that has one
// gives the main reason.
type Group string

// The groups, in their order.
const (
	GroupSystem    Group = "system"
	GroupHeld      Group = "held"
	GroupNeedsUser Group = "needs the user"
	GroupBetween   Group = "in between"
	GroupShare     Group = "waits for share"
	GroupMachines  Group = "waits for machines"
	GroupTurn      Group = "waits for its turn"
)

// InLine tells whether a Job that waits for such a reason has its turn as soon
// as there is room; others have none until something else changes.
func (g Group) InLine() bool { return g == GroupShare || g == GroupMachines || g == GroupTurn }

// Entry is what the catalogue says of a code.
type Entry struct {
	Code   Code
	Group  Group
	Title  string
	Advice string // what would change it
}

// Catalogue is every code, in the order in which they are the main one.
func Catalogue() []Entry {
	all := catalogue()
	return all[:]
}

// codes is how many there are.
const codes = 24

// catalogue costs no allocation.
func catalogue() [codes]Entry {
	return [codes]Entry{
		{PolicyError, GroupSystem, "The policy failed on this Job",
			"Fix the rule that the message names; nothing is admitted on an error."},
		{PolicyUnavailable, GroupSystem, "No policy is in force",
			"See why with kubectl get policyrollouts; a policy that loads lets the line move on."},
		{CatchingUp, GroupSystem, "The ledger is still reading the cluster",
			"Nothing to do: it ends by itself within seconds."},

		{HeldByOwner, GroupHeld, "Its owner holds it",
			"Remove the annotation holdshort.dev/hold."},
		{QueueHeld, GroupHeld, "An operator holds the queue",
			"Ask who holds it; kubectl holdshort queues shows it."},
		{HeldByPolicy, GroupHeld, "A rule of the policy holds it",
			"The message has the rule's own words, and until when if that is known."},

		{NeverFits, GroupNeedsUser, "It asks for more than there ever is",
			"Ask for less, or for another kind of machine; or have the quota raised or bigger machines added."},
		{UnknownQueue, GroupNeedsUser, "There is no such queue for it",
			"Use a queue that takes Jobs of this namespace: kubectl get queues."},
		{UnknownResource, GroupNeedsUser, "It asks for a resource that the policy does not know",
			"Correct the name, use a queue that has a quota of it, or have the policy list it in a quota or under resources."},
		{NoMatchingFlavor, GroupNeedsUser, "No flavor of the queue agrees with the pods",
			"Leave out the node selector, affinity or toleration that the message names, or choose another queue."},
		{BadRequest, GroupNeedsUser, "What it asks for can't be counted",
			"Correct the field that the message names."},
		{DeniedByPolicy, GroupNeedsUser, "A rule of the policy refuses it",
			"Change the Job as the message says."},
		{OutOfTime, GroupNeedsUser, "It has run for as long as it may",
			"Raise the annotation holdshort.dev/max-runtime-seconds if that is the limit; the policy's can't be raised for one Job."},
		{GaveUp, GroupNeedsUser, "It was taken back as often as its queue allows",
			"Find out why its pods don't come up and change the Job; or set the annotation holdshort.dev/hold and remove it again, once it says HeldByOwner."},

		{BackingOff, GroupBetween, "It tries again in a while",
			"Nothing to do, unless its pods can never be made or placed; the message says what went wrong."},

		{Preempted, GroupBetween, "It makes room for another Job",
			"Nothing to do: it keeps its place in the queue, and starts again when there is room."},
		{MakingRoom, GroupBetween, "Others are making room for it",
			"Nothing to do: it starts when the last of their pods is gone."},
		{WaitingForVolumes, GroupBetween, "A volume that its pods mount is not to be had",
			"Make the volume claim that the message names, or free it: the Job goes on by itself."},
		{MissingObject, GroupBetween, "An object that it names is not there",
			"Make the object that the message names: the Job goes on by itself. Or correct the name."},

		{WaitingForQuota, GroupShare, "Its queue has no quota left",
			"It starts when Jobs of its queue end, or of those that it shares with, or with a bigger quota; a smaller Job may start sooner."},

		{WaitingForNamespaceQuota, GroupShare, "A ResourceQuota of its namespace has too little left",
			"It starts when pods of its namespace end, or when the ResourceQuota is raised; see kubectl describe resourcequota."},

		{WaitingForMachines, GroupMachines, "Too little is free on the machines",
			"It starts when pods end, or when machines are added or come back; a smaller Job may start sooner."},
		{Fragmented, GroupMachines, "Enough is free, but not in one place",
			"Smaller pods fit into the gaps; or wait until pods on one machine end."},

		{BehindOthers, GroupTurn, "Others are before it",
			"It is looked at when those before it have started."},
	}
}

// Of returns the entry of a code. An unknown code is of the system: somebody
// has to look.
func Of(code Code) Entry {
	all := catalogue()
	for i := range all {
		if all[i].Code == code {
			return all[i]
		}
	}
	return Entry{Code: code, Group: GroupSystem, Title: string(code)}
}

// Main picks the reason to show first, and the others in the order of their
// weight; of one code, the first that was found.
func Main(found []Reason) (Reason, []Reason) {
	switch len(found) {
	case 0:
		return Reason{}, nil
	case 1:
		return found[0], nil
	}
	sorted := slices.Clone(found)
	all := catalogue()
	weight := func(r Reason) int { return slices.IndexFunc(all[:], func(e Entry) bool { return e.Code == r.Code }) }
	slices.SortStableFunc(sorted, func(a, b Reason) int { return weight(a) - weight(b) })
	return sorted[0], slices.CompactFunc(sorted[1:], func(a, b Reason) bool { return a == b })
}
