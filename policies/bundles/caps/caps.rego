package holdshort.policy

import data.holdshort.caps
import data.holdshort.lib

# METADATA
# title: At most so much at once
hold contains lib.reason("caps.example/TooMuch", message) if {
	some resource, most in caps.of(input.verdict.user).resources
	used := lib.user_used(resource)
	asked := lib.total(resource)
	asked > 0
	used + asked > most
	message := sprintf("%s has %d %s in this queue; with the %d of this Job that is more than %d", [input.verdict.user, used, resource, asked, most])
}

# METADATA
# title: At most so many Jobs at once
hold contains lib.reason("caps.example/TooMany", message) if {
	most := caps.of(input.verdict.user).jobs
	input.usage.running >= most
	message := sprintf("%s has %d Jobs in this queue, and may have %d", [input.verdict.user, input.usage.running, most])
}

# METADATA
# title: What can never start is refused at once
deny contains lib.reason("caps.example/TooMuch", message) if {
	user := data.holdshort.policy.classify.user
	some resource, most in caps.of(user).resources
	lib.total(resource) > most
	message := sprintf("it asks for %d %s, and %s may have %d", [lib.total(resource), resource, user, most])
}
