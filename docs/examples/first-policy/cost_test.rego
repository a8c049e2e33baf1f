package holdshort.policy_test

import data.holdshort.policy

paid_by(labels) := {
	"workload": {"queue": "default", "namespace": "research", "labels": labels, "total": {}},
	"namespace": {"name": "research", "labels": {}},
}

test_a_job_without_a_cost_centre_is_warned_of if {
	some reason in policy.warn with input as paid_by({})
	reason.code == "team.example/NoCostCentre"
}

test_a_job_with_one_is_not if {
	count(policy.warn) == 0 with input as paid_by({"cost-centre": "4711"})
}
