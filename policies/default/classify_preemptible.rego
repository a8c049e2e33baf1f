package holdshort.policy.classify

import data.holdshort.lib

# METADATA
# title: Whether others may displace it is said by the class
# description: The preemptible of the class that the label holdshort.dev/priority names; where it says nothing, they may.
preemptible := data.holdshort.config.classes[lib.label("holdshort.dev/priority", "")].preemptible
