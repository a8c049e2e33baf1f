# Beside the default priority and not a part of it: a policy with a priority of
# its own is protected from a misspelt class, too. The helpers lie outside of
# holdshort.policy, so that no name in there is taken but those of the contract.
package holdshort

import data.holdshort.lib

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

defaults.unknown_class := message if {
	class := lib.label("holdshort.dev/priority", "")
	class != ""
	not data.holdshort.config.classes[class]
	message := sprintf("priority class %q is not in holdshort.config.classes", [class])
}
