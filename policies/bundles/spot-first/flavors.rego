package holdshort.policy.classify

import data.holdshort.spot

# METADATA
# title: Who must not be interrupted stays off spot
# description: The queue's flavors but those of spot, for Jobs with the label that custom.spot names.
flavors := [flavor |
	some flavor in data.holdshort.config.queues[data.holdshort.policy.classify.queue].flavors
	not flavor in spot.settings.flavors
] if {
	input.workload.labels[spot.settings.neverLabel]
}
