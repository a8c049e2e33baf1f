package holdshort.policy.classify

import data.holdshort.lib

# METADATA
# title: The priority is that of the class
# description: Of the class that the label holdshort.dev/priority names; without one, the value of the pods' PriorityClass.
priority := lib.class_priority
