package holdshort.policy.catalog

# METADATA
# title: Queues from data
# description: The queues of holdshort.config.
queues := data.holdshort.config.queues
