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

test_a_job_with_as_many_as_allowed_is_taken if {
	count(policy.deny) == 0 with input as job(4)
}

test_a_job_with_one_more_is_denied if {
	codes(policy.deny) == {"team.example/TooManyGPUs"} with input as job(5)
}

# Tests do not depend on today's numbers if they bring their own.
test_the_limit_is_data if {
	count(policy.deny) == 0 with input as job(9)
		with data.holdshort.config.custom.gpusPerJob as 16
}
