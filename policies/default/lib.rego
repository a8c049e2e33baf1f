package holdshort.lib

# METADATA
# title: A reason
# description: An element of deny, warn or hold. The code carries the namespace of its owner, team.example/Freeze.
reason(code, message) := {"code": code, "message": message}

# METADATA
# title: A reason that ends by itself
# description: As reason, with the moment (unix nanoseconds) at which it will no longer apply.
reason_until(code, message, until_ns) := {"code": code, "message": message, "until_ns": until_ns}

# METADATA
# title: A label of the workload
# description: Its value, or the given one if the workload does not carry it.
label(key, otherwise) := object.get(input.workload.labels, key, otherwise)

# METADATA
# title: An annotation of the workload
# description: Its value, or the given one if the workload does not carry it.
annotation(key, otherwise) := object.get(input.workload.annotations, key, otherwise)

# METADATA
# title: How much of a resource the workload asks for
# description: Over all of its pods; cpu in thousandths, memory in bytes, the rest in units. 0 if it asks for none.
total(resource) := 0 + object.get(input.workload.total, resource, 0)

# METADATA
# title: The priority that the workload's class gives
# description: |
#   That of the class which the label holdshort.dev/priority names; without one, the value of the pods' PriorityClass. It is
#   what classify.priority is by default, for a rule of yours to add to.
class_priority := data.holdshort.config.classes[label("holdshort.dev/priority", "")].priority

class_priority := input.workload.priorityClassValue if {
	not data.holdshort.config.classes[label("holdshort.dev/priority", "")]
}

# METADATA
# title: Whether a queue's namespaces rule takes a namespace
# description: Arguments are the queue's namespaces and input.namespace.
accepts(rule, _) if rule.all == true

accepts(rule, namespace) if namespace.name in rule.names

accepts(rule, namespace) if {
	count(rule.labels) > 0
	every key, value in rule.labels {
		namespace.labels[key] == value
	}
}
