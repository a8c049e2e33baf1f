package holdshort.lib

# METADATA
# title: The time on the clocks of a zone
# description: |
#   {date, time, weekday}, such as {"date": "2026-03-29", "time": "02:30", "weekday": "Sunday"}, of input.now_ns. The zone is
#   one of the IANA names, Europe/Berlin, or UTC. Times compare as strings.
clock(zone) := {"date": date, "time": wall, "weekday": weekday} if {
	date := sprintf("%04d-%02d-%02d", time.date([input.now_ns, zone]))
	[hour, minute, _] := time.clock([input.now_ns, zone])
	wall := sprintf("%02d:%02d", [hour, minute])
	weekday := time.weekday([input.now_ns, zone])
}

# METADATA
# title: Whether the clocks of a zone are between two times
# description: |
#   between("08:00", "20:00", "Europe/Berlin"), the second one excluded; between("20:00", "08:00", zone) is the night. It
#   follows the clocks when they change.
between(from, to, zone) if {
	from <= to
	now := clock(zone).time
	from <= now
	now < to
}

between(from, to, zone) if {
	from > to
	clock(zone).time >= from
}

between(from, to, zone) if {
	from > to
	clock(zone).time < to
}

# METADATA
# title: Whether it is Saturday or Sunday in a zone
# description: Days begin at midnight of the zone.
weekend(zone) if clock(zone).weekday in {"Saturday", "Sunday"}

# METADATA
# title: When the clocks of a zone will next show a time
# description: |
#   next("20:00", "Europe/Berlin") in unix nanoseconds, for reason_until; always after input.now_ns. On a day whose clocks
#   skip the time, it is that long after the change.
next(wall, zone) := min([moment |
	some days in [0, 1, 2]
	moment := moment_ns(clocks_ns(input.now_ns, zone) + days_ns(days), wall, zone)
	moment > input.now_ns
])

# METADATA
# title: Whether it is between two moments
# description: |
#   during("2026-12-20T00:00:00+01:00", "2027-01-02T08:00:00+01:00"), the second one excluded. A change freeze, for example.
during(from, to) if {
	input.now_ns >= at(from)
	input.now_ns < at(to)
}

# METADATA
# title: A moment in unix nanoseconds
# description: From RFC 3339, 2027-01-02T08:00:00+01:00.
at(moment) := time.parse_rfc3339_ns(moment)

# METADATA
# title: Seconds as nanoseconds
# description: For sums with what ends in _ns.
seconds(count) := count * 1000000000

# METADATA
# title: How many seconds the workload has waited since it arrived
# description: Whole seconds, for hold.
waited := floor((input.now_ns - input.workload.arrival_ns) / 1000000000)

# METADATA
# title: Days as nanoseconds
# description: Of 24 hours each.
days_ns(count) := seconds(count * 86400)

# METADATA
# title: What the clocks of a zone show, as if it were UTC
# description: The difference to the moment itself is the zone's offset.
clocks_ns(moment, zone) := time.parse_rfc3339_ns(sprintf("%04d-%02d-%02dT%02d:%02d:%02dZ", array.concat(
	time.date([moment, zone]),
	time.clock([moment, zone]),
)))

# METADATA
# title: When the clocks of a zone show a time on a day
# description: The day is that of day_ns, as clocks_ns gives it; the time is 20:00.
moment_ns(day_ns, wall, zone) := shown - (clocks_ns(close, zone) - close) if {
	shown := time.parse_rfc3339_ns(sprintf("%04d-%02d-%02dT%s:00Z", array.concat(time.date(day_ns), [wall])))
	close := shown - (clocks_ns(shown, zone) - shown) # right unless the clocks change in between
}
