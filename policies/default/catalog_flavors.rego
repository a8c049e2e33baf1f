package holdshort.policy.catalog

# METADATA
# title: Flavors from data
# description: The flavors of holdshort.config.
flavors := data.holdshort.config.flavors
