package holdshort.lib_time_test

import data.holdshort.lib

berlin := "Europe/Berlin"

now(moment) := {"now_ns": lib.at(moment), "workload": {"arrival_ns": lib.at("2026-03-01T00:00:00Z")}}

test_clock_is_that_of_the_zone if {
	lib.clock(berlin) == {"date": "2026-03-02", "time": "13:05", "weekday": "Monday"} with input as now("2026-03-02T12:05:00Z")
	lib.clock("UTC") == {"date": "2026-03-01", "time": "23:30", "weekday": "Sunday"} with input as now("2026-03-01T23:30:00Z")
}

test_between_excludes_the_end if {
	lib.between("08:00", "20:00", "UTC") with input as now("2026-03-02T08:00:00Z")
	lib.between("08:00", "20:00", "UTC") with input as now("2026-03-02T19:59:59Z")
	not lib.between("08:00", "20:00", "UTC") with input as now("2026-03-02T20:00:00Z")
	not lib.between("08:00", "20:00", "UTC") with input as now("2026-03-02T07:59:59Z")
}

test_between_may_go_over_midnight if {
	lib.between("20:00", "08:00", "UTC") with input as now("2026-03-02T23:00:00Z")
	lib.between("20:00", "08:00", "UTC") with input as now("2026-03-02T07:59:00Z")
	not lib.between("20:00", "08:00", "UTC") with input as now("2026-03-02T12:00:00Z")
}

test_between_follows_the_clocks_of_summer_and_winter if {
	lib.between("08:00", "20:00", berlin) with input as now("2026-03-27T07:00:00Z") # winter: 08:00
	not lib.between("08:00", "20:00", berlin) with input as now("2026-03-27T06:59:00Z")
	lib.between("08:00", "20:00", berlin) with input as now("2026-03-30T06:00:00Z") # summer: 08:00
	not lib.between("08:00", "20:00", berlin) with input as now("2026-03-30T18:00:00Z") # summer: 20:00
}

test_weekend_is_that_of_the_zone if {
	lib.weekend(berlin) with input as now("2026-03-06T23:30:00Z") # Saturday there
	not lib.weekend("UTC") with input as now("2026-03-06T23:30:00Z")
	not lib.weekend(berlin) with input as now("2026-03-08T23:30:00Z")
}

test_next_is_later_today_or_tomorrow if {
	lib.next("20:00", "UTC") == lib.at("2026-03-02T20:00:00Z") with input as now("2026-03-02T12:00:00Z")
	lib.next("20:00", "UTC") == lib.at("2026-03-03T20:00:00Z") with input as now("2026-03-02T20:00:00Z")
}

test_next_knows_the_date_of_the_zone if {
	lib.next("01:00", "Pacific/Auckland") == lib.at("2026-03-02T12:00:00Z") with input as now("2026-03-02T09:00:00Z")
	lib.next("20:00", "America/Los_Angeles") == lib.at("2026-03-02T04:00:00Z") with input as now("2026-03-02T02:00:00Z")
}

test_next_is_right_on_the_days_when_clocks_change if {
	# To summer time on March 29 at 02:00, to winter time on October 25 at 03:00.
	lib.next("08:00", berlin) == lib.at("2026-03-29T06:00:00Z") with input as now("2026-03-28T20:00:00Z")
	lib.next("08:00", berlin) == lib.at("2026-10-25T07:00:00Z") with input as now("2026-10-24T20:00:00Z")
}

test_next_of_a_time_that_is_skipped_is_after_the_change if {
	lib.next("02:30", berlin) == lib.at("2026-03-29T01:30:00Z") with input as now("2026-03-28T20:00:00Z")
}

test_during_excludes_the_end if {
	from := "2026-12-20T00:00:00+01:00"
	to := "2027-01-02T08:00:00+01:00"
	lib.during(from, to) with input as now("2026-12-19T23:00:00Z")
	not lib.during(from, to) with input as now("2026-12-19T22:59:59Z")
	not lib.during(from, to) with input as now("2027-01-02T07:00:00Z")
}

test_waited_is_in_whole_seconds if {
	lib.waited == 90 with input as now("2026-03-01T00:01:30.7Z")
	lib.seconds(90) == 90000000000
}
