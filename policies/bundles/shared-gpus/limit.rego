package holdshort.policy

import data.holdshort.currency
import data.holdshort.lib

# METADATA
# title: A queue has at most so much of the currency
hold contains lib.reason("currency.example/TooMuch", message) if {
	limit := currency.settings.limits[input.verdict.queue]
	currency.asked > 0
	currency.used + currency.asked > limit
	message := sprintf("it costs %d %s; the queue has %d of %d in use", [currency.asked, currency.settings.name, currency.used, limit])
}

# METADATA
# title: What costs more than its queue may have is refused
deny contains lib.reason("currency.example/TooMuch", message) if {
	limit := currency.settings.limits[data.holdshort.policy.classify.queue]
	currency.asked > limit
	message := sprintf("it costs %d %s, and the queue may have %d", [currency.asked, currency.settings.name, limit])
}
