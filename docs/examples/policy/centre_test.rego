package holdshort.policy_test

import data.holdshort.policy

created(labels, spec) := {
	"workload": {"labels": {}, "annotations": {}},
	"namespace": {"name": "research", "labels": labels},
	"job": {"spec": spec},
}

test_a_job_is_labelled_as_its_namespace_is if {
	given := policy.mutate with input as created({"team.example/cost-centre": "4711"}, {})
	given.labels == {"team.example/cost-centre": "4711"}
}

test_a_namespace_without_a_cost_centre_gives_none if {
	given := policy.mutate with input as created({}, {})
	given.labels == {}
}

test_a_job_is_kept_for_a_day if {
	given := policy.mutate with input as created({}, {})
	given.ttlSecondsAfterFinished == 86400
}

test_a_job_that_says_how_long_it_is_kept_is_left_alone if {
	given := policy.mutate with input as created({}, {"ttlSecondsAfterFinished": 60})
	not given.ttlSecondsAfterFinished
}
