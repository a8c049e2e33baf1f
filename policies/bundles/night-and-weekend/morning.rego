package holdshort.policy

import data.holdshort.lib
import data.holdshort.office

# METADATA
# title: What would still run in the morning waits
# description: Beyond the day's quota a Job starts at night only if its deadline ends it in time.
hold contains lib.reason_until("hours.example/NotByMorning", message, office.opens_ns) if {
	office.hours.clearByMorning
	not office.open
	some flavor, limits in data.holdshort.config.custom.night[input.verdict.queue]
	some resource, limit in limits
	by_day := data.holdshort.config.queues[input.verdict.queue].quota[flavor][resource]
	limit > by_day
	lib.queue_used(resource) + lib.total(resource) > by_day
	not ends_in_time
	message := sprintf("more than the %v %s of the day start at night only with activeDeadlineSeconds that end by %s", [by_day, resource, office.hours.from])
}

ends_in_time if {
	input.workload.activeDeadline_s > 0
	input.now_ns + lib.seconds(input.workload.activeDeadline_s) <= office.opens_ns
}
