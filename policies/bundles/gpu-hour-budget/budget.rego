package holdshort.policy

import data.holdshort.cost
import data.holdshort.lib

# METADATA
# title: What has a budget needs an end
deny contains lib.reason("budget.example/NoDeadline", message) if {
	some resource, _ in cost.budget.hours
	lib.total(resource) > 0
	not cost.seconds[resource]
	message := sprintf("queue %s has a budget of %s hours; set activeDeadlineSeconds, so that it is known what this can cost", [data.holdshort.policy.classify.queue, resource])
}

# METADATA
# title: No Job uses the budget up by itself
deny contains lib.reason("budget.example/TooDear", message) if {
	some resource, amount in cost.seconds
	amount > cost.most[resource]
	message := sprintf("it can cost %d %s hours, and one Job may cost %d", [ceil(amount / 3600), resource, floor(cost.most[resource] / 3600)])
}

# METADATA
# title: Tell what it can cost
warn contains lib.reason("budget.example/Cost", message) if {
	some resource, amount in cost.seconds
	amount > 0
	amount <= cost.most[resource]
	message := sprintf("it can cost %d of the %d %s hours of this %s", [ceil(amount / 3600), cost.budget.hours[resource], resource, cost.budget.period])
}
