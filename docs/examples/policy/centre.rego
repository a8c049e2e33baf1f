package holdshort.policy

# METADATA
# title: Each Job and its pods say who pays for them
# description: As their namespace does.
mutate.labels["team.example/cost-centre"] := input.namespace.labels["team.example/cost-centre"]

# METADATA
# title: What is over is kept for a day
# description: Unless the Job says how long.
mutate.ttlSecondsAfterFinished := data.holdshort.config.custom.keptSeconds if not input.job.spec.ttlSecondsAfterFinished
