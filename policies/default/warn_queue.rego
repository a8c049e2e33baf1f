package holdshort.policy

import data.holdshort.lib

# The Job is created and stays suspended all the same, and is picked up when the
# queue appears or takes its namespace.

# METADATA
# title: Warn of a queue that does not exist
warn contains lib.reason("holdshort.dev/UnknownQueue", message) if {
	name := data.holdshort.policy.classify.queue
	name != ""
	not data.holdshort.policy.catalog.queues[name]
	message := sprintf("there is no queue %q: the Job will be held until there is one", [name])
}

# METADATA
# title: Warn when there is no queue at all
warn contains lib.reason("holdshort.dev/UnknownQueue", message) if {
	data.holdshort.policy.classify.queue == ""
	message := sprintf("no queue is named and namespace %q has none of its own: the Job will be held", [input.workload.namespace])
}

# METADATA
# title: Warn when the queue does not take the namespace
warn contains lib.reason("holdshort.dev/NamespaceNotAccepted", message) if {
	name := data.holdshort.policy.classify.queue
	queue := data.holdshort.policy.catalog.queues[name]
	not lib.accepts(object.get(queue, "namespaces", {}), input.namespace)
	message := sprintf("queue %q does not take Jobs of namespace %q: the Job will be held", [name, input.namespace.name])
}
