# Whether a spot flavor would take the workload now.
package holdshort.spot

import data.holdshort.lib

settings := data.holdshort.config.custom.spot

# METADATA
# title: One of the spot flavors has quota and machines for it
has_room if {
	some flavor in settings.flavors
	flavor in input.verdict.flavors
	not full(flavor)
}

# METADATA
# title: The quota of a flavor, its machines or the largest of them are too small
full(flavor) if {
	some resource, asked in input.workload.total
	amounts := input.usage.queue[resource][flavor]
	amounts.used + asked > amounts.nominal
}

full(flavor) if {
	some resource, asked in input.workload.total
	asked > free(flavor, resource, "free")
}

full(flavor) if {
	some resource, _ in input.workload.total
	lib.largest(resource) > free(flavor, resource, "largestSlot")
}

free(flavor, resource, kind) := object.get(input.capacity, [flavor, resource, kind], 0)
