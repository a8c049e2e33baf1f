package holdshort.policy.catalog

# METADATA
# title: Treatment of unreserved Jobs from data
# description: The unreserved of holdshort.config.
unreserved := data.holdshort.config.unreserved
