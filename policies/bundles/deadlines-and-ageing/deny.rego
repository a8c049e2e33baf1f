package holdshort.policy

import data.holdshort.lib
import data.holdshort.turn

# METADATA
# title: A deadline that cannot be read is refused
deny contains lib.reason("deadline.example/Unreadable", turn.unreadable)

# METADATA
# title: A deadline that was missed when the Job arrived is warned of
warn contains lib.reason("deadline.example/TooLate", message) if {
	some begin_ns in turn.by_deadline_ns
	begin_ns < input.workload.arrival_ns
	message := "even if it begins at once, it will not be ready in time; it goes before those that still can be"
}
