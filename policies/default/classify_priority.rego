# The helpers of this module lie outside of holdshort.policy, so that no name in
# there is taken but those of the contract.
package holdshort

import data.holdshort.lib

# METADATA
# title: The priority is that of the class
# description: The label holdshort.dev/priority names a class of holdshort.config.classes.
policy.classify.priority := data.holdshort.config.classes[defaults.priority_class].priority

# METADATA
# title: Or that of the pods' PriorityClass
# description: Its value where no class is named; 0 if there is none.
policy.classify.priority := input.workload.priorityClassValue if {
	not data.holdshort.config.classes[defaults.priority_class]
}

# METADATA
# title: Warn of a class that does not exist
# description: It is no priority at all, so the Job will be held until the class exists.
policy.warn contains lib.reason("holdshort.dev/UnknownClass", message) if {
	message := sprintf("%s: the Job will be held until it is", [defaults.unknown_class])
}

# METADATA
# title: Hold a class that does not exist
# description: Otherwise a misspelt class would silently be the lowest.
policy.hold contains lib.reason("holdshort.dev/UnknownClass", defaults.unknown_class)

defaults.priority_class := lib.label("holdshort.dev/priority", "")

defaults.unknown_class := message if {
	defaults.priority_class != ""
	not data.holdshort.config.classes[defaults.priority_class]
	message := sprintf("priority class %q is not in holdshort.config.classes", [defaults.priority_class])
}
