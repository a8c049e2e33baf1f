package holdshort.policy.classify

import data.holdshort.turn

# METADATA
# title: By the latest moment to begin
# description: One number for everybody, so a Job with a deadline and one that has waited long can be compared. No clock is asked, so the order never changes while Jobs wait.
order := [min({turn.by_patience_ns} | turn.by_deadline_ns)]
