package holdshort.caps

settings := data.holdshort.config.custom.caps

# METADATA
# title: The caps of a user, or of a CronJob
of(user) := object.get(settings.cronJobs, trim_prefix(user, "cronjob:"), settings.cronJobs.otherwise) if {
	startswith(user, "cronjob:")
} else := object.get(settings.users, user, settings.users.otherwise)
