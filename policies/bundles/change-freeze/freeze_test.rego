package holdshort.freeze_test

import data.holdshort.policy

config := {"custom": {"freezes": {
	"all": {"from": "2026-12-21T18:00:00+01:00", "to": "2027-01-04T08:00:00+01:00"},
	"some": {"from": "2026-06-13T06:00:00Z", "to": "2026-06-13T18:00:00Z", "namespaces": ["vision"], "passes": 2000},
}}}

until(moment, namespace, priority) := {reason.until_ns |
	some reason in reasons
	reason.code == "ops.example/Freeze"
} if {
	reasons := policy.hold with data.holdshort.config as config with input as {
		"workload": {"namespace": namespace, "labels": {}},
		"verdict": {"priority": priority},
		"now_ns": time.parse_rfc3339_ns(moment),
	}
}

test_a_freeze_holds_from_its_first_to_its_last_moment if {
	ends := {time.parse_rfc3339_ns("2027-01-04T07:00:00Z")}
	until("2026-12-21T16:59:59Z", "n", 100) == set()
	until("2026-12-21T17:00:00Z", "n", 100) == ends
	until("2027-01-04T06:59:59Z", "n", 100) == ends
	until("2027-01-04T07:00:00Z", "n", 100) == set()
}

test_what_is_urgent_starts_all_the_same if {
	until("2026-12-24T12:00:00Z", "n", 1000) == set()
	count(until("2026-12-24T12:00:00Z", "n", 999)) == 1
}

test_a_freeze_may_be_for_some_namespaces_and_stricter if {
	until("2026-06-13T12:00:00Z", "n", 100) == set()
	count(until("2026-06-13T12:00:00Z", "vision", 1999)) == 1
	until("2026-06-13T12:00:00Z", "vision", 2000) == set()
}

test_every_freeze_of_the_data_can_be_read_and_has_a_length if {
	every freeze in data.holdshort.config.custom.freezes {
		time.parse_rfc3339_ns(freeze.from) < time.parse_rfc3339_ns(freeze.to)
	}
}
