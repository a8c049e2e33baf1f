package holdshort.policy

# Each Job and its pods say who pays for them, as their namespace does.
mutate.labels["team.example/cost-centre"] := input.namespace.labels["team.example/cost-centre"]

# What is over is kept for a day, unless the Job says how long.
mutate.ttlSecondsAfterFinished := data.holdshort.config.custom.keptSeconds if not input.job.spec.ttlSecondsAfterFinished
