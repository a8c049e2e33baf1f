# What GPUs of all kinds cost in one currency.
package holdshort.currency

import data.holdshort.lib

settings := data.holdshort.config.custom.currency

# METADATA
# title: What the workload costs
asked := sum([cost |
	some resource, rate in settings.rates
	cost := lib.total(resource) * rate
])

# METADATA
# title: What its queue has
used := sum([cost |
	some resource, rate in settings.rates
	cost := lib.queue_used(resource) * rate
])
