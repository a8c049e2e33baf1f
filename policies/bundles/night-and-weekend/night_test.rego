package holdshort.night_test

import data.holdshort.office
import data.holdshort.policy
import data.holdshort.policy.catalog

config := {
	"flavors": {"gpu": {}},
	"queues": {
		"batch": {"flavors": ["gpu"], "quota": {"gpu": {"nvidia.com/gpu": 4}}},
		"other": {"flavors": ["gpu"], "quota": {"gpu": {"nvidia.com/gpu": 1}}},
	},
	"custom": {
		"office": {
			"timezone": "Europe/Berlin",
			"weekdays": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"],
			"from": "08:00", "to": "20:00",
			"clearByMorning": true,
		},
		"night": {"batch": {"gpu": {"nvidia.com/gpu": 14}}},
	},
}

batch(moment) := queues.batch.quota.gpu["nvidia.com/gpu"] if {
	queues := catalog.queues with data.holdshort.config as config
		with input.now_ns as time.parse_rfc3339_ns(moment)
}

test_quotas_change_at_the_local_hour_in_winter_and_in_summer if {
	every moment, limit in {
		"2026-01-12T06:59:00Z": 14, # 07:59
		"2026-01-12T07:00:00Z": 4, # 08:00
		"2026-01-12T18:59:00Z": 4, # 19:59
		"2026-01-12T19:00:00Z": 14, # 20:00
		"2026-07-13T05:59:00Z": 14, # 07:59
		"2026-07-13T06:00:00Z": 4, # 08:00
		"2026-07-13T17:59:00Z": 4, # 19:59
		"2026-07-13T18:00:00Z": 14, # 20:00
	} {
		batch(moment) == limit
	}
}

test_the_weekend_is_night if {
	batch("2026-01-10T12:00:00Z") == 14
	batch("2026-01-09T12:00:00Z") == 4
}

test_the_weekend_begins_on_the_local_calendar if {
	# In Auckland it is Saturday when it is still Friday in UTC.
	queues := catalog.queues with data.holdshort.config as json.patch(config, [{"op": "replace", "path": "/custom/office/timezone", "value": "Pacific/Auckland"}])
		with input.now_ns as time.parse_rfc3339_ns("2026-01-09T20:00:00Z")
	queues.batch.quota.gpu["nvidia.com/gpu"] == 14
}

test_other_queues_keep_their_quota if {
	queues := catalog.queues with data.holdshort.config as config
		with input.now_ns as time.parse_rfc3339_ns("2026-01-12T03:00:00Z")
	queues.other == config.queues.other
}

test_without_a_schedule_the_data_counts if {
	queues := catalog.queues with data.holdshort.config as object.remove(config, ["custom"])
		with input.now_ns as time.parse_rfc3339_ns("2026-01-12T03:00:00Z")
	queues == config.queues
}

opens(moment) := ns if {
	ns := office.opens_ns with data.holdshort.config as config
		with input.now_ns as time.parse_rfc3339_ns(moment)
}

test_the_next_morning_is_found_over_weekends_and_changes_of_the_clock if {
	every moment, morning in {
		"2026-01-12T19:00:00Z": "2026-01-13T07:00:00Z",
		"2026-01-12T23:30:00Z": "2026-01-13T07:00:00Z", # after midnight there
		"2026-01-13T06:59:59Z": "2026-01-13T07:00:00Z",
		"2026-01-09T19:00:00Z": "2026-01-12T07:00:00Z", # Friday evening
		"2026-03-27T20:00:00Z": "2026-03-30T06:00:00Z", # summer time begins on Sunday
		"2026-10-23T20:00:00Z": "2026-10-26T07:00:00Z", # and ends
	} {
		opens(moment) == time.parse_rfc3339_ns(morning)
	}
}

held(moment, used, gpus, deadline) := reasons if {
	reasons := policy.hold with data.holdshort.config as config with input as {
		"workload": {"labels": {}, "total": {"nvidia.com/gpu": gpus}, "activeDeadline_s": deadline},
		"verdict": {"queue": "batch"},
		"usage": {"queue": {"nvidia.com/gpu": {"gpu": {"used": used, "nominal": 14}}}},
		"now_ns": time.parse_rfc3339_ns(moment),
	}
}

test_what_runs_into_the_morning_waits_for_it if {
	every deadline in [0, 3601] {
		some reason in held("2026-01-13T06:00:00Z", 3, 2, deadline)
		reason.code == "hours.example/NotByMorning"
		reason.until_ns == time.parse_rfc3339_ns("2026-01-13T07:00:00Z")
	}
}

test_what_ends_in_time_or_fits_into_the_day_starts if {
	count(held("2026-01-13T06:00:00Z", 3, 2, 3600)) == 0
	count(held("2026-01-13T06:00:00Z", 2, 2, 0)) == 0
	count(held("2026-01-13T12:00:00Z", 3, 2, 0)) == 0
}
