package holdshort.policy.catalog

# METADATA
# title: Resource classes from data
# description: The resources of holdshort.config.
resources := data.holdshort.config.resources
