package holdshort.policy

import data.holdshort.lib

# METADATA
# title: Nothing new starts during a freeze
# description: What runs goes on, and what is urgent enough starts all the same.
hold contains lib.reason_until("ops.example/Freeze", message, lib.at(freeze.to)) if {
	some name, freeze in data.holdshort.config.custom.freezes
	input.verdict.priority < object.get(freeze, "passes", 1000)
	input.workload.namespace in object.get(freeze, "namespaces", [input.workload.namespace])
	lib.during(freeze.from, freeze.to)
	message := sprintf("change freeze %s until %s", [name, freeze.to])
}
