# When people work, on the clocks of the place where they do.
package holdshort.office

import data.holdshort.lib

hours := data.holdshort.config.custom.office

# METADATA
# title: Whether it is office hours now
open if {
	lib.clock(hours.timezone).weekday in hours.weekdays
	lib.between(hours.from, hours.to, hours.timezone)
}

# METADATA
# title: When the next office hours begin
opens_ns := min([moment |
	some days in numbers.range(0, 8)
	moment := lib.moment_ns(lib.clocks_ns(input.now_ns, hours.timezone) + lib.days_ns(days), hours.from, hours.timezone)
	moment > input.now_ns
	time.weekday([moment, hours.timezone]) in hours.weekdays
])
