package holdshort.budget_test

import data.holdshort.policy

config := {
	"queues": {
		"vision": {"namespaces": {"all": true}},
		"free": {"namespaces": {"all": true}},
	},
	"custom": {
		"largestPercent": 25,
		"budgets": {"vision": {"hours": {"nvidia.com/gpu": 800}, "period": "week"}},
	},
}

job(queue, gpus, deadline) := {
	"workload": {
		"queue": queue, "namespace": "n", "labels": {}, "priorityClassValue": 0,
		"total": {"nvidia.com/gpu": gpus}, "activeDeadline_s": deadline,
	},
	"namespace": {"name": "n", "labels": {}},
}

denied(queue, gpus, deadline) := {reason.code | some reason in reasons} if {
	reasons := policy.deny with data.holdshort.config as config with input as job(queue, gpus, deadline)
}

warned(queue, gpus, deadline) := {reason.message |
	some reason in reasons
	reason.code == "budget.example/Cost"
} if {
	reasons := policy.warn with data.holdshort.config as config with input as job(queue, gpus, deadline)
}

test_a_job_may_cost_its_part_of_the_budget if {
	denied("vision", 4, 180000) == set() # 200 hours
	denied("vision", 4, 180001) == {"budget.example/TooDear"}
}

test_a_job_without_an_end_is_refused if {
	denied("vision", 1, 0) == {"budget.example/NoDeadline"}
}

test_what_uses_none_of_it_needs_no_end if {
	denied("vision", 0, 0) == set()
}

test_a_queue_without_a_budget_is_free if {
	denied("free", 100, 0) == set()
	warned("free", 100, 7200) == set()
}

test_what_it_can_cost_is_told if {
	warned("vision", 4, 5400) == {"it can cost 6 of the 800 nvidia.com/gpu hours of this week"}
	warned("vision", 0, 5400) == set()
}

test_every_budget_of_the_data_is_in_the_quota_too if {
	every name, budget in data.holdshort.config.custom.budgets {
		every resource, _ in budget.hours {
			some limits in data.holdshort.config.queues[name].quota
			limits[resource] > 0
		}
	}
}
