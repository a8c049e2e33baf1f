package holdshort.policy

import data.holdshort.lib

# METADATA
# title: Big Jobs start in the evening
# description: Urgent ones start at any time. Hours are UTC.
hold contains lib.reason_until("team.example/Daytime", message, evening_ns) if {
	day := data.holdshort.config.custom.daytime
	asked := lib.total("nvidia.com/gpu")
	asked > day.gpusMax
	input.verdict.priority < 1000
	[hour, _, _] := time.clock(input.now_ns)
	hour >= day.from
	hour < day.to
	midnight_ns := time.parse_rfc3339_ns(sprintf("%04d-%02d-%02dT00:00:00Z", time.date(input.now_ns)))
	evening_ns := midnight_ns + (((day.to * 3600) * 1000) * 1000000)
	message := sprintf("%d GPUs asked; by day a Job starts with at most %d, until %d:00 UTC", [asked, day.gpusMax, day.to])
}
