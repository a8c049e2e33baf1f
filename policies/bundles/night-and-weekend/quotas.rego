package holdshort.policy.catalog

import data.holdshort.office

# METADATA
# title: Quotas by the hour
# description: Those of holdshort.config by day; by night, those of custom.night instead, where it has any.
queues := {name: queue |
	some name, by_day in all
	queue := object.union(by_day, object.get(changes, name, {}))
} if {
	all := data.holdshort.config.queues
	changes := {name: {"quota": quota} |
		not office.open
		some name, quota in data.holdshort.config.custom.night
	}
}
