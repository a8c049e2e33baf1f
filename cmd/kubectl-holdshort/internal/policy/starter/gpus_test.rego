package holdshort.policy_test

import data.holdshort.policy

# What a rule sees of a Job that asks for so many GPUs.
job(gpus) := {"workload": {
	"name": "train",
	"namespace": "research",
	"queue": "default",
	"total": {"cpu": 4000, "nvidia.com/gpu": gpus},
}}

codes(reasons) := {reason.code | some reason in reasons}

# Tests bring their own numbers, so that an edit of the data breaks none.
test_a_job_with_as_many_as_allowed_is_taken if {
	count(policy.deny) == 0 with input as job(4)
		with data.holdshort.config.custom.gpusPerJob as 4
}

test_a_job_with_one_more_is_denied if {
	codes(policy.deny) == {"team.example/TooManyGPUs"} with input as job(5)
		with data.holdshort.config.custom.gpusPerJob as 4
}

test_the_limit_is_data if {
	count(policy.deny) == 0 with input as job(9)
		with data.holdshort.config.custom.gpusPerJob as 16
}
