package holdshort.one_team_test

import data.holdshort.lib
import data.holdshort.policy
import data.holdshort.policy.catalog
import data.holdshort.policy.classify

config := data.holdshort.config

job(namespace, labels) := {
	"workload": {"namespace": namespace, "queue": "auto", "labels": labels, "priorityClassValue": 0},
	"namespace": {"name": namespace, "labels": {}},
}

test_a_job_that_names_no_queue_goes_to_that_of_its_team if {
	every namespace, team in config.teams {
		classify.queue == team.queue with input as job(namespace, {})
		count(policy.warn) == 0 with input as job(namespace, {})
	}
}

test_the_queue_takes_the_namespace_of_its_team if {
	every namespace, team in config.teams {
		lib.accepts(catalog.queues[team.queue].namespaces, {"name": namespace, "labels": {}})
	}
}

test_each_class_has_a_priority_of_its_own if {
	count({class.priority | some class in config.classes}) == count(config.classes)
	every name, class in config.classes {
		classify.priority == class.priority with input as job("research", {"holdshort.dev/priority": name})
	}
}

test_a_class_that_does_not_exist_waits if {
	count(policy.hold) == 1 with input as job("research", {"holdshort.dev/priority": "urgnt"})
}
