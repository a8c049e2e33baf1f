package holdshort.policy

import data.holdshort.lib
import data.holdshort.spot

# METADATA
# title: Spot first
# description: While a Job may still wait for spot, it starts nowhere else.
hold contains lib.reason_until("spot.example/WaitsForSpot", message, until_ns) if {
	some flavor in input.verdict.flavors
	flavor in spot.settings.flavors
	until_ns := input.workload.arrival_ns + lib.seconds(spot.settings.waitSeconds)
	input.now_ns < until_ns
	not spot.has_room
	message := sprintf("no room on %s; other machines are tried %d seconds after it arrived", [concat(", ", spot.settings.flavors), spot.settings.waitSeconds])
}
