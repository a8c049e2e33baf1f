package holdshort.policy.classify

# Always defined: whether there is such a queue, and whether it takes the
# namespace, is checked afterwards and has reasons of its own.
default queue := ""

# METADATA
# title: The queue is the label
# description: The value of holdshort.dev/queue.
queue := input.workload.queue if not input.workload.queue in {"", "auto"}

# METADATA
# title: Or that of the team
# description: Where the label is empty or auto, the queue of the namespace in holdshort.config.teams.
queue := data.holdshort.config.teams[input.workload.namespace].queue if input.workload.queue in {"", "auto"}
