package holdshort.policy.catalog

# METADATA
# title: Waiting pods that count, from data
# description: The rivals of holdshort.config.
rivals := data.holdshort.config.rivals
