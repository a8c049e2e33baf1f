package holdshort.lib

# METADATA
# title: How many pods the workload runs at once
# description: Over all of its pod sets.
pods := sum([set.count | some set in input.workload.podSets])

# METADATA
# title: The most that one pod of the workload asks for
# description: Of one resource; cpu in thousandths, memory in bytes, the rest in units. 0 if none asks for it.
largest(resource) := max(array.concat([0], [amount | some set in input.workload.podSets; amount := set.requests[resource]]))

# METADATA
# title: How much of a resource the workload is charged
# description: |
#   As total, but in what quotas and input.usage count: what resources.conversions charge as this resource is that much of
#   it, and a resource that is charged as others is 0.
charged(resource) := converted + kept if {
	# A rule may make the resources without the key, so no path can name it; or none at all.
	conversions := object.union_n([table | table := object.get(data.holdshort.policy.catalog.resources, "conversions", {})])
	converted := sum([amount | some name, units in conversions; amount := total(name) * units[resource]])
	kept := sum([amount | not conversions[resource]; amount := total(resource)])
}

# METADATA
# title: Who the workload belongs to
# description: |
#   The name of its owner if that is of the kind, owner("CronJob"); otherwise undefined.
owner(kind) := input.workload.owner.name if input.workload.owner.kind == kind

# METADATA
# title: How much of a resource the workload's queue uses
# description: Over all flavors, for hold.
queue_used(resource) := sum([amount.used | some amount in input.usage.queue[resource]])

# METADATA
# title: How much of a resource the workload's user uses
# description: Over all flavors, for hold. The user is the one that classify.user names.
user_used(resource) := sum([amount.used | some amount in input.usage.user[resource]])

# METADATA
# title: A share of the machines, as a quota
# description: |
#   share("h100", "nvidia.com/gpu", 25) is a quarter of what the nodes of the flavor have now, rounded down, in the form that
#   a quota wants. For catalog.queues; 0 as long as the machines are not known.
share(flavor, resource, percent) := sprintf("%dm", [share_of(flavor, resource, percent)]) if resource == "cpu"

else := share_of(flavor, resource, percent)

# METADATA
# title: A share of the machines, as an amount
# description: As share, in the unit of inputs; cpu in thousandths.
share_of(flavor, resource, percent) := floor((there * percent) / 100) if {
	there := input.capacity[flavor][resource].allocatable
}

else := 0
