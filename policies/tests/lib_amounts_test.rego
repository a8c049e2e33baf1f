package holdshort.lib_amounts_test

import data.holdshort.lib

sets := [{"count": 3, "requests": {"cpu": 500}}, {"count": 2, "requests": {"cpu": 4000, "nvidia.com/gpu": 8}}]

test_pods_are_those_of_all_pod_sets if {
	lib.pods == 5 with input.workload.podSets as sets
	lib.pods == 0 with input.workload.podSets as []
}

test_largest_is_that_of_one_pod if {
	lib.largest("cpu") == 4000 with input.workload.podSets as sets
	lib.largest("memory") == 0 with input.workload.podSets as sets
}

test_owner_is_undefined_for_another_kind if {
	lib.owner("CronJob") == "nightly" with input.workload as {"owner": {"kind": "CronJob", "name": "nightly"}}
	not lib.owner("JobSet") with input.workload as {"owner": {"kind": "CronJob", "name": "nightly"}}
	not lib.owner("CronJob") with input.workload as {}
}

usage := {
	"queue": {"nvidia.com/gpu": {"h100": {"used": 6, "nominal": 8}, "a100": {"used": 3, "nominal": 4}}},
	"user": {"nvidia.com/gpu": {"h100": {"used": 2, "nominal": 8}}},
}

test_used_is_over_all_flavors if {
	lib.queue_used("nvidia.com/gpu") == 9 with input.usage as usage
	lib.user_used("nvidia.com/gpu") == 2 with input.usage as usage
	lib.user_used("cpu") == 0 with input.usage as usage
}

capacity := {"h100": {"nvidia.com/gpu": {"allocatable": 30}, "cpu": {"allocatable": 9999}}}

test_share_is_a_quota_rounded_down if {
	lib.share("h100", "nvidia.com/gpu", 25) == 7 with input.capacity as capacity
	lib.share("h100", "cpu", 50) == "4999m" with input.capacity as capacity
	lib.share_of("h100", "cpu", 50) == 4999 with input.capacity as capacity
}

test_share_of_what_is_not_known_is_nothing if {
	lib.share("a100", "nvidia.com/gpu", 25) == 0 with input.capacity as capacity
	lib.share("h100", "cpu", 25) == "0m" with input as {}
}

test_what_is_converted_is_charged_in_units if {
	table := {"nvidia.com/gpu": {"slices": 7}, "nvidia.com/mig-3g.40gb": {"slices": 3}}
	total := {"nvidia.com/gpu": 2, "nvidia.com/mig-3g.40gb": 1, "slices": 5, "cpu": 4000}
	charged := {name: lib.charged(name) |
		some name in ["slices", "nvidia.com/gpu", "cpu", "memory"]
	} with data.holdshort.config.resources.conversions as table with input.workload.total as total
	charged == {"slices": 22, "nvidia.com/gpu": 0, "cpu": 4000, "memory": 0}
}

test_without_conversions_all_is_charged_as_it_is if {
	lib.charged("nvidia.com/gpu") == 2 with data.holdshort.config as {} with input.workload.total as {"nvidia.com/gpu": 2}
}
