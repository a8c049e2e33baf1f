# What a workload can cost at most.
package holdshort.cost

import data.holdshort.lib

budget := data.holdshort.config.custom.budgets[data.holdshort.policy.classify.queue]

# METADATA
# title: What it costs of each resource that has a budget, if it runs until its deadline
# description: In seconds of one unit. Undefined for a workload without a deadline, which may cost anything.
seconds[resource] := amount if {
	some resource, _ in budget.hours
	input.workload.activeDeadline_s > 0
	amount := lib.total(resource) * input.workload.activeDeadline_s
}

# METADATA
# title: The most that one workload may cost
most[resource] := ((hours * 3600) * data.holdshort.config.custom.largestPercent) / 100 if {
	some resource, hours in budget.hours
}
