package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTallyOfAFewJobs(t *testing.T) {
	const large = 2
	tally := newTally(kueues(1))
	at := place{cohort: 1, queue: 2}
	first, second := item{at: at, class: large, n: 0}, item{at: at, class: large, n: 1}
	tally.start(first, time.Second, 2*time.Second)
	tally.start(second, time.Second, 4*time.Second)
	tally.takenBack(first, 3*time.Second, 5*time.Second)
	tally.start(first, time.Second, 6*time.Second)
	tally.end(second, 8*time.Second)
	tally.end(first, 10*time.Second)

	got := []any{tally.waits[large], tally.takings, tally.lost, tally.ended, tally.held, tally.use(10 * time.Second), tally.overfull}
	want := []any{
		[]time.Duration{time.Second, 3 * time.Second}, 1, 60 * time.Second, 2, int64(0),
		// 20 of 600 from 2 to 5 and from 6 to 10, and from 4 to 8.
		20.0 * 11 / (600 * 10), []string(nil),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first waits, taken back, lost, ended, held, use, broken promises (-want +got):\n%s", diff)
	}
}

func TestTallyTellsWhoHoldsTooMuch(t *testing.T) {
	const large = 2
	tally := newTally(kueues(1))
	for n := range 4 {
		for queue := range 2 {
			tally.start(item{at: place{queue: queue}, class: large, n: n}, 0, time.Second)
		}
	}
	want := []string{"cohort-0 held 140 of 120 after 1s", "cohort-0 held 160 of 120 after 1s"}
	if diff := cmp.Diff(want, tally.overfull); diff != "" {
		t.Errorf("of 8 Jobs of 20 in a cohort of 120 (-want +got):\n%s", diff)
	}
}

func TestWritesAreToldFromMetrics(t *testing.T) {
	before := requests{"PATCH jobs": 5, "POST events": 1}
	after, err := readRequests(`# HELP apiserver_request_total of requests
apiserver_request_total{code="200",component="apiserver",dry_run="",group="batch",resource="jobs",scope="resource",subresource="",verb="PATCH",version="v1"} 7
apiserver_request_total{code="409",component="apiserver",dry_run="",group="batch",resource="jobs",scope="resource",subresource="",verb="PATCH",version="v1"} 1
apiserver_request_total{code="201",component="apiserver",dry_run="",group="batch",resource="jobs",scope="resource",subresource="",verb="POST",version="v1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="batch",resource="jobs",scope="resource",subresource="status",verb="PATCH",version="v1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="holdshort.dev",resource="queues",scope="resource",subresource="status",verb="PUT",version="v1alpha1"} 2
apiserver_request_total{code="201",component="apiserver",dry_run="",group="events.k8s.io",resource="events",scope="resource",subresource="",verb="POST",version="v1"} 1
apiserver_request_total{code="0",component="apiserver",resource="jobs",verb="WATCH"} 1e+2
`)
	if err != nil {
		t.Fatal(err)
	}
	want := requests{"PATCH jobs": 2, "PATCH jobs 409": 1, "PUT queues/status": 2}
	if diff := cmp.Diff(want, after.ours(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
