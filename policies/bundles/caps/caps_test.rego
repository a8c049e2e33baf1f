package holdshort.caps_test

import data.holdshort.policy
import data.holdshort.policy.classify

config := {"custom": {"caps": {
	"users": {
		"otherwise": {"jobs": 20, "resources": {"nvidia.com/gpu": 8}},
		"alice": {"jobs": 50, "resources": {"nvidia.com/gpu": 16}},
	},
	"cronJobs": {
		"otherwise": {"jobs": 1, "resources": {"nvidia.com/gpu": 2}},
		"n/nightly": {"jobs": 4, "resources": {"nvidia.com/gpu": 8}},
	},
}}}

codes(user, gpus, used, running) := {reason.code | some reason in reasons} if {
	reasons := policy.hold with data.holdshort.config as config with input as {
		"workload": {"labels": {}, "total": {"nvidia.com/gpu": gpus}},
		"verdict": {"user": user},
		"usage": {
			"user": {"nvidia.com/gpu": {"a": {"used": used, "nominal": 32}, "b": {"used": 1, "nominal": 32}}},
			"running": running,
		},
	}
}

test_a_user_has_the_cap_of_all_or_his_own if {
	codes("bob", 2, 5, 3) == set()
	codes("bob", 2, 6, 3) == {"caps.example/TooMuch"}
	codes("alice", 2, 13, 3) == set()
	codes("alice", 2, 14, 3) == {"caps.example/TooMuch"}
}

test_a_cronjob_has_caps_of_its_own if {
	codes("cronjob:n/other", 1, 0, 0) == set()
	codes("cronjob:n/other", 1, 0, 1) == {"caps.example/TooMany"}
	codes("cronjob:n/nightly", 1, 0, 3) == set()
	codes("cronjob:n/nightly", 1, 0, 4) == {"caps.example/TooMany"}
}

test_what_asks_for_none_may_start_beside_any_number if {
	codes("bob", 0, 50, 3) == set()
}

test_there_is_a_number_of_jobs_too if {
	codes("bob", 0, 0, 19) == set()
	codes("bob", 0, 0, 20) == {"caps.example/TooMany"}
	codes("bob", 2, 8, 20) == {"caps.example/TooMany", "caps.example/TooMuch"}
}

workload(gpus, owner) := object.union({"user": "bob", "namespace": "n", "labels": {}, "total": {"nvidia.com/gpu": gpus}}, owner)

test_jobs_of_a_cronjob_count_for_it if {
	classify.user == "cronjob:n/nightly" with input.workload as workload(1, {"owner": {"kind": "CronJob", "name": "nightly"}})
	classify.user == "bob" with input.workload as workload(1, {"owner": {"kind": "Workflow", "name": "x"}})
	classify.user == "bob" with input.workload as workload(1, {})
}

test_what_is_more_than_the_cap_is_refused if {
	count(policy.deny) == 1 with data.holdshort.config as config with input.workload as workload(9, {})
	count(policy.deny) == 0 with data.holdshort.config as config with input.workload as workload(8, {})
}
