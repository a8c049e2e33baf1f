package holdshort.policy.classify

import data.holdshort.lib

# METADATA
# title: A CronJob is a user of its own
# description: All of its Jobs are created by Kubernetes' controller, which would be one user for all CronJobs.
user := sprintf("cronjob:%s/%s", [input.workload.namespace, lib.owner("CronJob")]) if {
	lib.owner("CronJob")
} else := input.workload.user
