package reason

import (
	"fmt"
	"strings"
	"time"
)

// The constructors below are why a sound Job waits, each with its numbers.

// Quota is the state of one resource of one flavor in a queue, for a message.
type Quota struct {
	Queue, Flavor, Resource string
	Used, Nominal, Asked    int64
	Left                    int64 // what it may still use, borrowed or not
	Shared                  Sharing
	// For is what is asked for where that is charged as the resource; empty: the
	// resource itself.
	For []Part
}

// Part is an amount of one resource.
type Part struct {
	Resource string
	Amount   int64
}

// asked is how much is asked for: of something else, what that is in the resource.
func (q Quota) asked() string {
	if len(q.For) == 0 {
		return Amount(q.Resource, q.Asked)
	}
	var parts []string
	for _, part := range q.For {
		parts = append(parts, Amount(part.Resource, part.Amount)+" "+part.Resource)
	}
	return and(parts) + " = " + Amount(q.Resource, q.Asked) + " " + q.Resource
}

// Sharing is with whom a queue shares what it has too little of; the zero value is
// a queue that shares with nobody.
type Sharing struct {
	Cohort string // the nearest above it that has not enough left
	// AtLimit: there would be enough, but for the queue's own borrowingLimit.
	AtLimit bool
	// Borrowers are other queues below the cohort that use more than their own, who
	// does most first.
	Borrowers []Borrower
}

// Borrower is a queue, and how much more than its own it uses.
type Borrower struct {
	Queue  string
	Amount int64
}

// NoQuota is that the queue's share is in use.
func NoQuota(q Quota) Reason {
	return Reason{Code: WaitingForQuota, Message: fmt.Sprintf("%s uses %s of %s %s on %s; %s asked, %s left%s",
		q.Queue, Amount(q.Resource, q.Used), Amount(q.Resource, q.Nominal), q.Resource, q.Flavor,
		q.asked(), Amount(q.Resource, max(0, q.Left)), q.Shared.text(q.Resource))}
}

// borrowersMax is how many queues a message names.
const borrowersMax = 3

func (s Sharing) text(resource string) string {
	switch {
	case s.AtLimit:
		return " within its borrowingLimit"
	case s.Cohort == "":
		return ""
	case len(s.Borrowers) == 0:
		return fmt.Sprintf(" in cohort %s, where nobody else borrows", s.Cohort)
	}
	var who []string
	for i, b := range s.Borrowers {
		if i == borrowersMax {
			who = append(who, counted(int64(len(s.Borrowers)-i), "other")+" the rest")
			break
		}
		verb := " "
		if i == 0 {
			verb = " borrows "
		}
		who = append(who, b.Queue+verb+Amount(resource, b.Amount))
	}
	return fmt.Sprintf(" in cohort %s, where %s", s.Cohort, and(who))
}

// and joins a list as people say it.
func and(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// FullQueue is that the queue has as many Jobs as it may.
func FullQueue(queue string, most int64) Reason {
	return Reason{Code: WaitingForQuota, Message: fmt.Sprintf("%s runs as many Jobs as it may at once (maxWorkloads: %d)", queue, most)}
}

// About tells whether a message that NoQuota made is about this row, with
// whatever numbers.
func (q Quota) About(message string) bool {
	return strings.HasPrefix(message, q.Queue+" uses ") && strings.Contains(message, " "+q.Resource+" on "+q.Flavor+"; ")
}

// OverQuota is that it asks for more than the queue may ever use: of each flavor
// that would do, what there is too little of.
func OverQuota(pods int64, over ...Quota) Reason {
	var parts []string
	apart := false // it would fit if its pods could be spread over flavors
	for len(over) > 0 {
		first, same := over[0], 1
		at := []string{atMost(first)}
		sum := first.Nominal
		for same < len(over) && over[same].Resource == first.Resource {
			at = append(at, atMost(over[same]))
			sum += over[same].Nominal // of quotas that are smaller than what was asked
			same++
		}
		apart = apart || same > 1 && pods > 1 && sum >= first.Asked
		asked := first.asked()
		if len(first.For) == 0 {
			asked += " " + first.Resource
		}
		parts = append(parts, fmt.Sprintf("%s asked; %s may use at most %s", asked, first.Queue, strings.Join(at, ", ")))
		over = over[same:]
	}
	message := strings.Join(parts, "; ")
	if apart {
		message += "; all pods of a Job go to one flavor. Try: ask for less, or make several Jobs of it"
	} else {
		message += ". Try: ask for less"
	}
	return Reason{Code: NeverFits, Message: message}
}

func atMost(q Quota) string { return Amount(q.Resource, q.Nominal) + " on " + q.Flavor }

// Machines is what there is for a gang on the nodes of a flavor.
type Machines struct {
	Flavor   string
	Pods     int64 // asked
	Resource string
	PerPod   int64
	Need     int64  // of the resource, all pods
	Free     int64  // of it, on all nodes that may run the pods
	Nodes    int    // on which any is free
	Largest  int64  // free of it on one node
	Placing  int64  // pods of others that are being placed there
	Matching int    // nodes that may run the pods
	Out      int    // of these, cordoned, not ready or closed
	Cause    string // why one of them is closed, or its devices not counted
	Coming   int64  // of the matching: not there yet, and an autoscaler may add them
	InVain   int64  // until when it is not asked for any, as none came; 0: it is
	Lost     int64  // of the resource: built into the others, but not to be had now
}

// TooFewMachines is that not enough is free in all.
func TooFewMachines(m Machines) Reason {
	return Reason{Code: WaitingForMachines, Message: fmt.Sprintf("%s %s asked, %s free on the machines of %s%s%s",
		Amount(m.Resource, m.Need), m.Resource, Amount(m.Resource, m.Free), m.Flavor, m.promised(), m.missing())}
}

// Scattered is that enough is free, but not where whole pods would fit.
func Scattered(m Machines) Reason {
	return Reason{Code: Fragmented, Message: fmt.Sprintf("%s of %s %s each asked; on the machines of %s %s free on %s, at most %s on one%s%s",
		Pods(m.Pods), Amount(m.Resource, m.PerPod), m.Resource, m.Flavor, Amount(m.Resource, m.Free), nodes(m.Nodes),
		Amount(m.Resource, m.Largest), m.promised(), m.missing())}
}

// BeingPlaced is that it would fit now, but might not once pods that were let
// go before it have found their nodes.
func BeingPlaced(m Machines) Reason {
	return Reason{Code: WaitingForMachines, Message: fmt.Sprintf(
		"%s %s asked, %s free on the machines of %s; waits until others are placed there (%s)%s",
		Amount(m.Resource, m.Need), m.Resource, Amount(m.Resource, m.Free), m.Flavor, Pods(m.Placing), m.elastic())}
}

func (m Machines) promised() string {
	if m.Placing == 0 {
		return ""
	}
	return fmt.Sprintf(", with %s of others still to be placed there", Pods(m.Placing))
}

// elastic is what an autoscaler may add.
func (m Machines) elastic() string {
	switch {
	case m.InVain > 0:
		return "; " + InVain(m.Flavor, m.InVain)
	case m.Coming > 0:
		return fmt.Sprintf("; %d of %s %s not there yet and can be added", m.Coming, nodes(m.Matching), are(m.Coming))
	}
	return ""
}

// InVain is that an autoscaler is not asked for machines of a flavor until a moment.
func InVain(flavor string, until int64) string {
	return fmt.Sprintf("more machines of %s were asked for in vain, and are asked for again from %s", flavor, moment(until))
}

// MoreMachines is what a Job that was let go needs of an autoscaler.
func MoreMachines(n int64) string {
	return fmt.Sprintf("its pods wait for %s more, to be added by the autoscaler", counted(n, "machine"))
}

func moment(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339) }

// missing is what of the machines might come back, or be added.
func (m Machines) missing() string {
	text := m.elastic()
	state := "cordoned or not ready"
	if m.Cause != "" {
		state = "cordoned, not ready or closed"
	}
	switch {
	case m.Out == 0:
	case m.Matching == 1:
		text += "; the only matching node is " + state
	case m.Out == m.Matching:
		text += fmt.Sprintf("; all %d matching nodes are %s", m.Matching, state)
	default:
		text += fmt.Sprintf("; %d of %d matching nodes %s %s", m.Out, m.Matching, are(int64(m.Out)), state)
	}
	text += ofOne(m.Cause)
	if m.Lost > 0 {
		text += fmt.Sprintf("; %s more %s not allocatable now", Amount(m.Resource, m.Lost), are(m.Lost))
	}
	return text
}

func ofOne(cause string) string {
	if cause == "" {
		return ""
	}
	return "; one of them: " + cause
}

// Empty is what the machines of a flavor would have room for if nothing ran.
type Empty struct {
	Flavor      string
	Pods, Slots int64 // asked, and that would fit
	Nodes       int   // that may run the pods
	Coming      int64 // of these, not there yet, but an autoscaler may add them
	// Scarce is the resource of which a pod asks for Each, and one node has at most
	// Most; empty: it is not one alone.
	Scarce     string
	Each, Most int64
	Single     bool   // one pod fits somewhere
	Cause      string // why some of them count for less than they look
}

// TooSmallMachines is that the pods would not fit even if nothing ran.
func TooSmallMachines(e Empty) Reason {
	const later = ". It starts by itself if more or bigger ones come. Try: ask for less per pod"
	all := nodes(e.Nodes)
	if e.Coming > 0 {
		all += fmt.Sprintf(", with %d that can be added", e.Coming)
	}
	switch {
	case e.Single && e.Scarce == "":
		return Reason{Code: NeverFits, Message: fmt.Sprintf("%s asked; the machines of %s (%s) would have room for %d if nothing ran%s%s, or fewer pods",
			Pods(e.Pods), e.Flavor, all, e.Slots, ofOne(e.Cause), later)}
	case e.Single:
		return Reason{Code: NeverFits, Message: fmt.Sprintf(
			"%s of %s %s each asked; the machines of %s (%s, with %s each at most) would have room for %d if nothing ran%s%s, or fewer pods",
			Pods(e.Pods), Amount(e.Scarce, e.Each), e.Scarce, e.Flavor, all, Amount(e.Scarce, e.Most), e.Slots, ofOne(e.Cause), later)}
	case e.Scarce == "":
		return Reason{Code: NeverFits, Message: fmt.Sprintf("no node of %s could ever hold a pod of it: none of those that may run it (%d) has all that it asks for at once%s%s",
			e.Flavor, e.Nodes, ofOne(e.Cause), later)}
	}
	return Reason{Code: NeverFits, Message: fmt.Sprintf("no node of %s could ever hold a pod of it: %s %s asked, %s is the most that one has%s%s",
		e.Flavor, Amount(e.Scarce, e.Each), e.Scarce, Amount(e.Scarce, e.Most), ofOne(e.Cause), later)}
}

// NoDomains is that no node which may run the pods has the label of the level.
func NoDomains(flavor, level string) Reason {
	return Reason{Code: NeverFits, Message: fmt.Sprintf("the pods are to be in one %s, and no node of %s that may run them has this label. "+
		"It starts by itself if such a node comes. Try: a level whose label the nodes have", level, flavor)}
}

// TooSmallDomains is that no domain would have room for the pods if nothing ran.
func TooSmallDomains(flavor string, asked int64, d InDomains) Reason {
	return Reason{Code: NeverFits, Message: fmt.Sprintf("%s asked in one %s; of %d on the machines of %s the largest, %s, would have room for %d if nothing ran. "+
		"It starts by itself if a bigger one comes. Try: fewer pods, a wider level, or the annotation preferred-topology",
		Pods(asked), d.Level, d.Count, flavor, d.Largest, d.Most)}
}

// InDomains is how the room for pods lies that are to be in one domain.
type InDomains struct {
	Level   string // the label
	Count   int    // of the domains
	Room    int64  // for so many pods in all
	Largest string // the domain with the most room, if any has some
	Most    int64  // for so many pods
}

// Straddles is that enough is free, but not in one domain.
func Straddles(m Machines, d InDomains) Reason {
	where := "none in any"
	if d.Most > 0 {
		where = fmt.Sprintf("at most %d in one (%s, of %d)", d.Most, d.Largest, d.Count)
	}
	return Reason{Code: Fragmented, Message: fmt.Sprintf("%s of %s %s each asked in one %s; the machines of %s have room for %d, %s%s%s",
		Pods(m.Pods), Amount(m.Resource, m.PerPod), m.Resource, d.Level, m.Flavor, d.Room, where, m.promised(), m.missing())}
}

// InLine is that a Job before it in a strict queue does not fit.
func InLine(queue, head string) Reason {
	return Reason{Code: BehindOthers, Message: fmt.Sprintf("%s is strict about order, and %s is before it and does not fit yet", queue, head)}
}

// WouldDelay is that it would fit, but keep a Job before it from starting when it
// can: it ends too late for that, or nobody knows when.
func WouldDelay(head string, at int64, ends bool) Reason {
	deadline := "a shorter spec.activeDeadlineSeconds"
	if !ends {
		deadline = "a spec.activeDeadlineSeconds that is over by then"
	}
	return Reason{Code: BehindOthers, Message: fmt.Sprintf("it would be in the way of %s, which starts at %s at the latest. "+
		"Try: %s, if that is true of it", head, moment(at), deadline)}
}

// KeptForQueue is that it would fit, but that what is left is kept for the first Job
// of another queue, which waits for more of it and can take nothing back.
func KeptForQueue(queue string) Reason {
	return Reason{Code: BehindOthers, Message: fmt.Sprintf("what is left in its cohort is kept for the first Job of queue %s, which waits for more of it", queue)}
}

// NextRound is that so many started at once that its turn comes a moment later.
func NextRound() Reason {
	return Reason{Code: BehindOthers, Message: "others start first; it is looked at in a moment"}
}

// StillEnding is that pods of an earlier admission are not gone; displaced, if others
// need their room.
func StillEnding(n int64, displaced bool) Reason {
	r := Reason{Code: BackingOff, Message: fmt.Sprintf("%s of its last run not gone yet", Pods(n))}
	if displaced {
		r.Code = Preempted
	}
	return r
}

// StillStopping is that its suspension has not been carried out yet.
func StillStopping() Reason {
	return Reason{Code: BackingOff, Message: "it was suspended a moment ago and is not marked so yet"}
}

// TryingLater is that it was taken back and waits before the next attempt.
func TryingLater(attempts, until int64, why string) Reason {
	return Reason{Code: BackingOff, Until: until, Message: takenBack(attempts, why)}
}

func takenBack(attempts int64, why string) string {
	if attempts == 1 {
		return "taken back once, because of " + why
	}
	return fmt.Sprintf("taken back %d times, the last time because of %s", attempts, why)
}
