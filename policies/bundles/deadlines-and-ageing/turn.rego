# When a workload's turn comes.
package holdshort.turn

import data.holdshort.lib

settings := data.holdshort.config.custom.order

# METADATA
# title: When the patience of its class ends
by_patience_ns := input.workload.arrival_ns + lib.seconds(patience) if {
	class := lib.label("holdshort.dev/priority", "")
	patience := object.get(settings.patienceSeconds, class, settings.otherwiseSeconds)
}

# METADATA
# title: When it has to begin to be ready in time
# description: A set, empty if the Job has no deadline or none that can be read.
by_deadline_ns contains finish_ns - takes_ns if {
	not unreadable
	finish_ns := lib.at(input.workload.annotations[settings.finishBy])
	takes_ns := time.parse_duration_ns(lib.annotation(settings.takes, "0s"))
}

# METADATA
# title: What cannot be read of a workload's deadline
# description: Checked by form first, because an error in a built-in would fail the rule.
unreadable := message if {
	text := input.workload.annotations[settings.finishBy]
	not is_moment(text)
	message := sprintf("%s is %q. Try: 2026-05-04T18:00:00Z", [settings.finishBy, text])
} else := message if {
	text := input.workload.annotations[settings.takes]
	not regex.match(`^([1-9]\d{0,4}h)?([1-9]\d{0,5}m)?([1-9]\d{0,6}s)?$`, text)
	message := sprintf("%s is %q. Try: 90m, or 2h30m", [settings.takes, text])
} else := message if {
	input.workload.annotations[settings.takes] == ""
	message := sprintf("%s is empty. Try: 90m, or 2h30m", [settings.takes])
}

is_moment(text) if {
	some date in [
		`(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])`,
		`(0[13-9]|1[0-2])-(29|30)`,
		`(0[13578]|1[02])-31`,
	]
	regex.match(sprintf(`^2[01]\d\d-%s%s$`, [date, clock]), text)
}

is_moment(text) if regex.match(sprintf(`^2[01](0[48]|[2468][048]|[13579][26])-02-29%s$`, [clock]), text)

clock := `T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(Z|[+-]([01]\d|2[0-3]):[0-5]\d)`
