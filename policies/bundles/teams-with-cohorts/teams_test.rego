package holdshort.teams_test

import data.holdshort.policy.catalog
import data.holdshort.policy.classify

config := data.holdshort.config

# A limit is a number, or an object with the number as nominal.
nominal(limit) := limit if is_number(limit)

nominal(limit) := limit.nominal if is_object(limit)

owned(flavor, resource) := sum([nominal(limit) |
	some queue in catalog.queues
	limit := queue.quota[flavor][resource]
])

shared(flavor, resource) := sum([nominal(limit) |
	some cohort in catalog.cohorts
	limit := cohort.quota[flavor][resource]
])

test_quotas_add_up_to_the_machines if {
	every flavor, amounts in config.custom.machines {
		every resource, amount in amounts {
			owned(flavor, resource) + shared(flavor, resource) == amount
		}
	}
}

test_nobody_lends_more_than_he_has if {
	every queue in catalog.queues {
		every limits in queue.quota {
			every limit in limits {
				object.get({"limit": limit}, ["limit", "lendingLimit"], 0) <= nominal(limit)
			}
		}
	}
}

test_every_queue_belongs_to_a_cohort_that_exists if {
	every queue in catalog.queues {
		catalog.cohorts[queue.cohort]
	}
}

test_every_team_gets_its_own_back if {
	every queue in catalog.queues {
		queue.preemption.reclaimWithinCohort == "Any"
	}
}

test_production_is_not_displaced if {
	job := {"workload": {"queue": "service", "namespace": "s", "labels": {"holdshort.dev/priority": "production"}, "priorityClassValue": 0}}
	classify.preemptible == false with input as job
	classify.priority == config.classes.production.priority with input as job
}
