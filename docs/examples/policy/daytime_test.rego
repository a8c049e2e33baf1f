package holdshort.policy_test

import data.holdshort.policy

noon_ns := time.parse_rfc3339_ns("2026-03-02T12:00:00Z")

evening_ns := time.parse_rfc3339_ns("2026-03-02T20:00:00Z")

job(gpus, priority, now_ns) := {
	"workload": {"labels": {}, "annotations": {}, "total": {"nvidia.com/gpu": gpus}},
	"verdict": {"priority": priority},
	"now_ns": now_ns,
}

codes(document) := {reason.code | some reason in policy.hold with input as document}

test_a_big_job_waits_by_day if {
	some reason in policy.hold with input as job(16, 0, noon_ns)
	reason.code == "team.example/Daytime"
	reason.until_ns == evening_ns
}

test_a_big_job_starts_in_the_evening if codes(job(16, 0, evening_ns)) == set()

test_a_small_job_starts_by_day if codes(job(8, 0, noon_ns)) == set()

test_an_urgent_job_starts_by_day if codes(job(16, 1000, noon_ns)) == set()
