package holdshort.shared_test

import data.holdshort.lib
import data.holdshort.policy

conversions := policy.catalog.resources.conversions

test_what_is_charged_is_in_every_quota if {
	every _, units in conversions {
		object.keys(units) == {"slices"}
	}
	every _, queue in policy.catalog.queues {
		some limits in queue.quota
		limits.slices > 0
	}
}

test_what_is_converted_has_no_quota_of_its_own if {
	every _, queue in policy.catalog.queues {
		every _, limits in queue.quota {
			every resource, _ in limits {
				not conversions[resource]
			}
		}
	}
}

test_kinds_of_gpus_are_added_up if {
	lib.charged("slices") == 24 with input.workload.total as {
		"nvidia.com/gpu": 2, "nvidia.com/mig-3g.40gb": 1, "nvidia.com/mig-1g.10gb": 3,
		"nvidia.com/gpu.shared": 2, "cpu": 4000,
	}
}
