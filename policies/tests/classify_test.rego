package holdshort.policy.classify_test

import data.holdshort.policy
import data.holdshort.policy.classify

config := {
	"classes": {"urgent": {"priority": 1000}, "idle": {"priority": -5}, "none": {"priority": 0}},
	"teams": {"research": {"queue": "lab"}},
	"queues": {
		"lab": {"namespaces": {"names": ["research"]}},
		"nlp": {"namespaces": {"labels": {"team": "nlp"}}},
		"all": {"namespaces": {"all": true}},
		"closed": {},
	},
}

job(queue, class) := {
	"workload": {
		"queue": queue,
		"namespace": "research",
		"labels": {key: value | some key, value in {"holdshort.dev/priority": class}; value != ""},
		"priorityClassValue": 7,
	},
	"namespace": {"name": "research", "labels": {"team": "vision"}},
}

codes(reasons) := {reason.code | some reason in reasons}

test_queue_is_the_label if {
	classify.queue == "gold" with input as job("gold", "") with data.holdshort.config as config
}

test_empty_and_auto_mean_the_team_queue if {
	classify.queue == "lab" with input as job("", "") with data.holdshort.config as config
	classify.queue == "lab" with input as job("auto", "") with data.holdshort.config as config
}

test_queue_is_empty_where_the_namespace_has_no_team if {
	classify.queue == "" with input as job("auto", "") with data.holdshort.config as {}
}

test_priority_is_that_of_the_class if {
	classify.priority == 1000 with input as job("lab", "urgent") with data.holdshort.config as config
	classify.priority == -5 with input as job("lab", "idle") with data.holdshort.config as config
	classify.priority == 0 with input as job("lab", "none") with data.holdshort.config as config
}

test_priority_without_a_class_is_that_of_the_pods if {
	classify.priority == 7 with input as job("lab", "") with data.holdshort.config as config
	classify.priority == 7 with input as job("lab", "") with data.holdshort.config as {}
}

test_unknown_class_is_held_and_warned_of if {
	codes(policy.hold) == {"holdshort.dev/UnknownClass"} with input as job("lab", "urgnt")
		with data.holdshort.config as config
	codes(policy.warn) == {"holdshort.dev/UnknownClass"} with input as job("lab", "urgnt")
		with data.holdshort.config as config
}

test_known_class_and_none_are_neither_held_nor_warned_of if {
	every class in ["urgent", "idle", "none", ""] {
		count(policy.hold) == 0 with input as job("lab", class) with data.holdshort.config as config
		count(policy.warn) == 0 with input as job("lab", class) with data.holdshort.config as config
	}
}

test_unknown_queue_is_warned_of if {
	codes(policy.warn) == {"holdshort.dev/UnknownQueue"} with input as job("lap", "")
		with data.holdshort.config as config
}

test_no_queue_at_all_is_warned_of if {
	codes(policy.warn) == {"holdshort.dev/UnknownQueue"} with input as job("auto", "")
		with data.holdshort.config as object.remove(config, ["teams"])
}

test_queue_that_does_not_take_the_namespace_is_warned_of if {
	every queue in ["nlp", "closed"] {
		codes(policy.warn) == {"holdshort.dev/NamespaceNotAccepted"} with input as job(queue, "")
			with data.holdshort.config as config
	}
}

test_queue_that_takes_all_is_not_warned_of if {
	count(policy.warn) == 0 with input as job("all", "") with data.holdshort.config as config
}
