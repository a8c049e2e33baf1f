package holdshort.currency_test

import data.holdshort.policy

config := {"custom": {"currency": {
	"name": "slices",
	"rates": {"nvidia.com/gpu": 7, "nvidia.com/mig-3g.40gb": 3, "nvidia.com/mig-1g.10gb": 1},
	"limits": {"q": 20},
}}}

held(total, used) := {reason.message |
	some reason in reasons
	reason.code == "currency.example/TooMuch"
} if {
	reasons := policy.hold with data.holdshort.config as config with input as {
		"workload": {"labels": {}, "total": total},
		"verdict": {"queue": "q"},
		"usage": {"queue": {resource: {"gpu": {"used": amount, "nominal": 99}} | some resource, amount in used}},
	}
}

test_kinds_of_gpus_are_added_up if {
	used := {"nvidia.com/gpu": 1, "nvidia.com/mig-3g.40gb": 2}
	held({"nvidia.com/gpu": 1}, used) == set()
	held({"nvidia.com/mig-1g.10gb": 7}, used) == set()
	held({"nvidia.com/mig-1g.10gb": 8}, used) == {"it costs 8 slices; the queue has 13 of 20 in use"}
	held({"nvidia.com/gpu": 1, "nvidia.com/mig-1g.10gb": 1}, used) == {"it costs 8 slices; the queue has 13 of 20 in use"}
}

test_what_costs_nothing_starts_all_the_same if {
	held({"cpu": 4000}, {"nvidia.com/gpu": 9}) == set()
}

denied(queue, total) := {reason.code | some reason in reasons} if {
	reasons := policy.deny with data.holdshort.config as config
		with input.workload as {"queue": queue, "namespace": "n", "labels": {}, "total": total}
}

test_what_can_never_start_is_refused if {
	denied("q", {"nvidia.com/gpu": 3}) == {"currency.example/TooMuch"}
	denied("q", {"nvidia.com/gpu": 2}) == set()
	denied("other", {"nvidia.com/gpu": 3}) == set()
}

test_what_has_a_rate_is_in_every_quota_that_is_limited if {
	all := data.holdshort.config
	every name, _ in all.custom.currency.limits {
		every resource, _ in all.custom.currency.rates {
			some limits in all.queues[name].quota
			limits[resource] >= 0
		}
	}
}
