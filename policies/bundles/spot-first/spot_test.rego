package holdshort.spot_test

import data.holdshort.policy
import data.holdshort.policy.classify

config := {
	"queues": {"q": {"flavors": ["spot", "on-demand"]}},
	"custom": {"spot": {"flavors": ["spot"], "waitSeconds": 900, "neverLabel": "example.com/no-spot"}},
}

held(now_s, changes) := reasons if {
	reasons := policy.hold with data.holdshort.config as config with input as json.patch(
		{
			"workload": {
				"labels": {}, "arrival_ns": 1000000000000,
				"total": {"nvidia.com/gpu": 4}, "podSets": [{"count": 2, "requests": {"nvidia.com/gpu": 2}}],
			},
			"verdict": {"queue": "q", "flavors": ["spot", "on-demand"]},
			"usage": {"queue": {"nvidia.com/gpu": {"spot": {"used": 0, "nominal": 8}, "on-demand": {"used": 0, "nominal": 8}}}},
			"capacity": {"spot": {"nvidia.com/gpu": {"free": 8, "largestSlot": 4}}},
			"now_ns": now_s * 1000000000,
		},
		changes,
	)
}

replaced(path, value) := [{"op": "replace", "path": path, "value": value}]

test_where_spot_has_room_nobody_waits if {
	count(held(1000, [])) == 0
}

test_while_spot_is_full_a_job_waits_for_it if {
	every change in [
		replaced("/capacity/spot/nvidia.com~1gpu/free", 3),
		replaced("/capacity/spot/nvidia.com~1gpu/largestSlot", 1),
		replaced("/usage/queue/nvidia.com~1gpu/spot/used", 5),
		replaced("/capacity", {}),
	] {
		some reason in held(1899, change)
		reason.code == "spot.example/WaitsForSpot"
		reason.until_ns == 1900000000000
	}
}

test_after_the_wait_it_may_start_anywhere if {
	count(held(1900, replaced("/capacity", {}))) == 0
}

test_who_never_runs_on_spot_does_not_wait_for_it if {
	count(held(1000, array.concat(replaced("/capacity", {}), replaced("/verdict/flavors", ["on-demand"])))) == 0
}

test_the_label_keeps_a_job_off_spot if {
	classify.flavors == ["on-demand"] with data.holdshort.config as config
		with input.workload as {"queue": "q", "namespace": "n", "labels": {"example.com/no-spot": "true"}}
	not classify.flavors with data.holdshort.config as config
		with input.workload as {"queue": "q", "namespace": "n", "labels": {}}
}

test_spot_comes_first_in_every_queue_that_has_it if {
	settings := data.holdshort.config.custom.spot
	every queue in data.holdshort.config.queues {
		not settings.flavors[0] in array.slice(queue.flavors, 1, count(queue.flavors))
	}
}
