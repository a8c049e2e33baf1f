package holdshort.order_test

import data.holdshort.policy
import data.holdshort.policy.classify

config := {
	"queues": {"q": {"namespaces": {"all": true}}},
	"classes": {"urgent": {"priority": 1000}, "normal": {"priority": 100}, "idle": {"priority": 0}},
	"custom": {"order": {
		"finishBy": "example.com/finish-by", "takes": "example.com/takes",
		"patienceSeconds": {"urgent": 0, "normal": 28800, "idle": 259200},
		"otherwiseSeconds": 28800,
	}},
}

job(arrival, class, annotations) := {
	"workload": {
		"queue": "q", "namespace": "n",
		"labels": {key: value | some key, value in {"holdshort.dev/priority": class}; value != ""},
		"annotations": annotations, "priorityClassValue": 0,
		"arrival_ns": time.parse_rfc3339_ns(arrival),
	},
	"namespace": {"name": "n", "labels": {}},
}

turn(arrival, class, annotations) := order[0] if {
	order := classify.order with data.holdshort.config as config with input as job(arrival, class, annotations)
}

finish(moment, takes) := {"example.com/finish-by": moment, "example.com/takes": takes}

test_without_a_deadline_the_patience_of_the_class_counts if {
	turn("2026-03-02T08:00:00Z", "urgent", {}) == time.parse_rfc3339_ns("2026-03-02T08:00:00Z")
	turn("2026-03-02T08:00:00Z", "normal", {}) == time.parse_rfc3339_ns("2026-03-02T16:00:00Z")
	turn("2026-03-02T08:00:00Z", "idle", {}) == time.parse_rfc3339_ns("2026-03-05T08:00:00Z")
	turn("2026-03-02T08:00:00Z", "", {}) == time.parse_rfc3339_ns("2026-03-02T16:00:00Z")
}

test_who_waits_long_enough_goes_before_an_urgent_one if {
	turn("2026-03-01T08:00:00Z", "idle", {}) < turn("2026-03-04T08:00:01Z", "urgent", {})
	turn("2026-03-01T08:00:00Z", "idle", {}) > turn("2026-03-04T07:59:59Z", "urgent", {})
}

test_a_deadline_says_when_to_begin if {
	turn("2026-03-02T08:00:00Z", "idle", finish("2026-03-02T18:00:00+01:00", "2h30m")) == time.parse_rfc3339_ns("2026-03-02T14:30:00Z")
	turn("2026-03-02T08:00:00Z", "idle", {"example.com/finish-by": "2026-03-02T18:00:00Z"}) == time.parse_rfc3339_ns("2026-03-02T18:00:00Z")
}

test_a_deadline_far_away_does_not_push_a_job_back if {
	turn("2026-03-02T08:00:00Z", "normal", finish("2027-01-01T00:00:00Z", "1h")) == turn("2026-03-02T08:00:00Z", "normal", {})
}

denied(annotations) := {reason.code | some reason in reasons} if {
	reasons := policy.deny with data.holdshort.config as config with input as job("2026-03-02T08:00:00Z", "", annotations)
}

test_what_cannot_be_read_is_refused if {
	every annotations in [
		finish("tomorrow", "1h"),
		finish("2026-03-02 18:00:00Z", "1h"),
		finish("2026-02-30T18:00:00Z", "1h"),
		finish("2027-02-29T18:00:00Z", "1h"),
		finish("2999-01-01T18:00:00Z", "1h"),
		finish("2026-04-31T18:00:00Z", "1h"),
		finish("2026-03-02T24:00:00Z", "1h"),
		finish("2026-03-02T18:00:00", "1h"),
		finish("2026-03-02T18:00:00Z", "1 hour"),
		finish("2026-03-02T18:00:00Z", ""),
		finish("2026-03-02T18:00:00Z", "999999h"),
		{"example.com/takes": "-1h"},
	] {
		denied(annotations) == {"deadline.example/Unreadable"}
	}
}

test_and_leaves_the_order_defined if {
	turn("2026-03-02T08:00:00Z", "", finish("2026-02-30T18:00:00Z", "1h")) == turn("2026-03-02T08:00:00Z", "", {})
}

test_what_can_be_read_is_not_refused if {
	every annotations in [
		{},
		finish("2026-12-31T23:59:59-11:30", "90m"),
		finish("2028-02-29T18:00:00Z", "2h30m"),
		finish("2026-04-30T18:00:00Z", "45s"),
		{"example.com/takes": "1h"},
	] {
		denied(annotations) == set()
	}
}

test_a_deadline_that_is_missed_already_is_warned_of if {
	late := job("2026-03-02T08:00:00Z", "", finish("2026-03-02T09:00:00Z", "2h"))
	some reason in policy.warn with data.holdshort.config as config with input as late
	reason.code == "deadline.example/TooLate"
	early := job("2026-03-02T08:00:00Z", "", finish("2026-03-02T11:00:00Z", "2h"))
	count(policy.warn) == 0 with data.holdshort.config as config with input as early
}

test_every_class_has_a_patience if {
	every name, _ in data.holdshort.config.classes {
		data.holdshort.config.custom.order.patienceSeconds[name] >= 0
	}
}
