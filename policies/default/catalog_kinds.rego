package holdshort.policy.catalog

# METADATA
# title: Kinds of workloads from data
# description: The kinds of holdshort.config.
kinds := data.holdshort.config.kinds
