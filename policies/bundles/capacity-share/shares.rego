package holdshort.policy.catalog

import data.holdshort.lib

# METADATA
# title: Quotas as shares of the machines
# description: Percent of what is allocatable on healthy nodes, rounded down; what custom.shares does not name is as in the data.
queues := {name: queue |
	some name, fixed in all
	queue := object.union(fixed, {"quota": object.get(computed, name, {})})
} if {
	all := data.holdshort.config.queues
	computed := {name: {flavor: {resource: limit |
		some resource, percent in parts
		limit := lib.share(flavor, resource, percent)
	} |
		some flavor, parts in shares
	} |
		some name, shares in data.holdshort.config.custom.shares
	}
}
