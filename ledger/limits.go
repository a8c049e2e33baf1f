package ledger

import "time"

// The limits of the loop, in one place.
const (
	// batchPause collects what happens at the same time into one round. Where rounds
	// are long, the pause is as long as they are, up to batchPauseMax: it leaves half
	// a core to the API server, and the next round has the more to do.
	batchPause, batchPauseMax = 5 * time.Millisecond, 50 * time.Millisecond
	// writers is how many write at the same time what was decided. A busy API server
	// shares itself out by requests, so those who create Jobs, each waiting for an
	// answer, must not be more than those who start them.
	writers = 64
	// inFlightMax is how many Jobs may be in the hands of the writers: whoever waits
	// there for a writer keeps the next urgent one waiting, and holds what it got.
	inFlightMax = writers
	// busyWriters is how many of them are much to write: little is told then.
	busyWriters = writers * 3 / 4
	// talkers write at the same time what only tells: why a Job waits, and the
	// statuses of queues. toldMax is how much of that may wait for them.
	talkers, toldMax = 4, 256
	// shapesMax is how many kinds of pods the cache knows, to keep what is alike once.
	// Beyond, it begins anew, and pods of a kind that was known are kept twice.
	shapesMax = 20_000
	// asksMax is how often one round may go back to the policy.
	asksMax = 8
	// askBudget is how long one round may spend on asking hold rules; who was not
	// asked about yet waits for the next.
	askBudget = 100 * time.Millisecond
	// judgeBudget is the same for judging the Jobs that changed.
	judgeBudget = 500 * time.Millisecond
	// slowJudge is what is slow: such a Job is judged after the others.
	slowJudge = 20 * time.Millisecond
	// holdStands is how long a "no" of a hold rule stands before it is asked
	// again, and failedStands if a rule, of hold or others, failed or was too slow.
	holdStands, failedStands = 2 * time.Second, 30 * time.Second
	// holdUnchanged is how long a "no" stands of a hold rule that reads nothing but
	// the workload, if that stays the same.
	holdUnchanged = time.Hour
	// capacityEvery is how often the machines are counted for a catalog that reads
	// them, and capacityStands how long they must have been more, or fewer, before
	// it is told: a node that comes and goes must not take quotas with it.
	capacityEvery, capacityStands = 10 * time.Second, 2 * time.Minute
	// ghostStands is how long the devices of a pod count as taken that was deleted
	// by force while it ran: the API says that they are free, the machine may not.
	ghostStands = 30 * time.Second
	// roundMax is how long a round may take before the manager counts as unhealthy.
	roundMax = time.Minute
	// auditEvery is the slow full pass: a net under the wake-ups, and the
	// book's check of itself.
	auditEvery = time.Minute
	// auditTells is how many differences are told.
	auditTells = 5
	// statusEvery is how often one Queue's status may be written, and
	// statusesPerSecond how often all of them together. tersePerSecond is how much of
	// everything that only tells may be written while there is much else to write.
	statusEvery                       = 2 * time.Second
	statusesPerSecond, tersePerSecond = 50, 5
	// explainPerSecond is how many Jobs may be told why they wait, and
	// explainBurst how many at once.
	explainPerSecond, explainBurst = 10, 20
	// explainAfter is how long a reason must have stood before it is written:
	// most reasons of the first moments are gone before anybody could read them.
	explainAfter = 300 * time.Millisecond
	// eventsPerSecond is how many admissions get an event, and as many takings back,
	// and eventsBurst how many at once: an event costs the API server as much as the
	// admission itself, and says nothing that the Job does not carry.
	eventsPerSecond, eventsBurst = 10, 50
	// refusedPause is how long a Job waits after the API server refused to let
	// it be admitted; doubled each time up to refusedPauseMax.
	refusedPause, refusedPauseMax = 5 * time.Second, 5 * time.Minute
	// liveWithin is how long whoever asks for the Jobs waits for the loop.
	liveWithin = 20 * time.Second
	// startsEach is of how many Jobs of a queue, the first in line, it is worked out
	// when they start.
	startsEach = 20
	// startsEvery is how often that may be done, startsBudget how long it may take,
	// and startsShare the part of a core that it may have: one of so many.
	startsEvery, startsBudget, startsShare = 5 * time.Second, 5 * time.Second, 20
	// startsLag is how long the pods of a Job may take to go when its time is over.
	startsLag = 30 * time.Second
	// startsShift is how far a moment may shift until it is told anew, or by one part
	// in startsPart of how far away it is, if that is more.
	startsShift, startsPart = 10 * time.Second, 20
	// beginMax is how long the Job controller may take to say that it has begun a Job,
	// before that is taken back all the same.
	beginMax = 30 * time.Second
	// yieldMax is how long the creation of a Job waits for starts that are being written,
	// and quickWrite how long these take at most where the API server is not overrun.
	yieldMax, quickWrite = time.Second, 50 * time.Millisecond
	// writeTimeout is how long a writer tries one write before it says that it
	// does not know.
	writeTimeout = 30 * time.Second
)
