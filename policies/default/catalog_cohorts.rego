package holdshort.policy.catalog

# METADATA
# title: Cohorts from data
# description: The cohorts of holdshort.config.
cohorts := data.holdshort.config.cohorts
