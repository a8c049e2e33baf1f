package main

import (
	"fmt"
	"time"
)

// tally counts who holds what, as the history of the Jobs has it, event by event.
// It knows no clock: whoever calls it says how long after the start it is.
type tally struct {
	shape    shape
	queues   map[place]int64 // held
	cohorts  map[int]int64
	held     int64
	since    time.Duration // when held last changed
	area     float64       // held × seconds
	started  map[item]bool
	waits    [][]time.Duration // by class: from creation to the first start
	lost     time.Duration     // run times of those that were taken back, weighted by what they held
	takings  int
	ended    int
	overfull []string // broken promises, the first few
}

func newTally(s shape) *tally {
	return &tally{
		shape: s, queues: map[place]int64{}, cohorts: map[int]int64{},
		started: map[item]bool{}, waits: make([][]time.Duration, len(s.classes)),
	}
}

const overfullMax = 20

// start of a Job that was created at a time.
func (t *tally) start(i item, created, now time.Duration) {
	t.add(i, 1, now)
	if !t.started[i] {
		t.started[i] = true
		t.waits[i.class] = append(t.waits[i.class], max(0, now-created))
	}
	t.check(i.at.queueName(), t.queues[i.at], t.shape.queue(), now)
	t.check(i.at.cohortName(), t.cohorts[i.at.cohort], t.shape.cohort(), now)
}

// takenBack: the Job holds nothing any more and starts anew later.
func (t *tally) takenBack(i item, ran, now time.Duration) {
	t.add(i, -1, now)
	t.takings++
	t.lost += ran * time.Duration(t.shape.classes[i.class].request)
}

// end of a Job.
func (t *tally) end(i item, now time.Duration) {
	t.add(i, -1, now)
	t.ended++
}

func (t *tally) add(i item, sign int64, now time.Duration) {
	t.area += float64(t.held) * (now - t.since).Seconds()
	n := sign * t.shape.classes[i.class].request
	t.queues[i.at] += n
	t.cohorts[i.at.cohort] += n
	t.held, t.since = t.held+n, now
}

func (t *tally) check(name string, holds, may int64, now time.Duration) {
	if holds > may && len(t.overfull) < overfullMax {
		t.overfull = append(t.overfull, fmt.Sprintf("%s held %d of %d after %s", name, holds, may, now.Round(time.Millisecond)))
	}
}

// use is the mean share of all quota that was held until a time.
func (t *tally) use(now time.Duration) float64 {
	area := t.area + float64(t.held)*(now-t.since).Seconds()
	return area / (float64(t.shape.capacity()) * now.Seconds())
}
