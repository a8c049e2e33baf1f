package holdshort.shares_test

import data.holdshort.policy.catalog

config := {
	"queues": {
		"vision": {"flavors": ["gpu"], "quota": {"gpu": {"nvidia.com/gpu": 0, "cpu": 0, "memory": "1Ti"}}},
		"fixed": {"flavors": ["gpu"], "quota": {"gpu": {"nvidia.com/gpu": 2}}},
	},
	"custom": {"shares": {"vision": {"gpu": {"nvidia.com/gpu": 60, "cpu": 50}}}},
}

queues(gpus, cpu) := all if {
	all := catalog.queues with data.holdshort.config as config with input as {"capacity": {"gpu": {
		"nvidia.com/gpu": {"allocatable": gpus, "unhealthy": 8, "held": 3},
		"cpu": {"allocatable": cpu, "unhealthy": 0, "held": 0},
	}}}
}

test_a_share_is_percent_of_what_is_healthy if {
	queues(40, 64000).vision.quota.gpu == {"nvidia.com/gpu": 24, "cpu": "32000m", "memory": "1Ti"}
}

test_a_share_is_rounded_down if {
	queues(41, 64001).vision.quota.gpu["nvidia.com/gpu"] == 24
	queues(41, 64001).vision.quota.gpu.cpu == "32000m"
	queues(1, 0).vision.quota.gpu["nvidia.com/gpu"] == 0
}

test_what_has_no_share_is_as_in_the_data if {
	queues(40, 64000).fixed == config.queues.fixed
}

test_as_long_as_no_machines_are_known_a_share_is_nothing if {
	all := catalog.queues with data.holdshort.config as config with input as {"capacity": {}}
	all.vision.quota.gpu == {"nvidia.com/gpu": 0, "cpu": "0m", "memory": "1Ti"}
}

test_shares_add_up_to_at_most_all if {
	all := data.holdshort.config.custom.shares
	every pair in {[flavor, resource] | some shares in all; some flavor, parts in shares; some resource, _ in parts} {
		sum([shares[pair[0]][pair[1]] | some shares in all]) <= 100
	}
}

test_every_share_is_of_a_queue_that_exists if {
	every name, _ in data.holdshort.config.custom.shares {
		data.holdshort.config.queues[name]
	}
}
