package holdshort.policy.catalog

# METADATA
# title: Fair sharing from data
# description: The fairSharing of holdshort.config.
fairSharing := data.holdshort.config.fairSharing
