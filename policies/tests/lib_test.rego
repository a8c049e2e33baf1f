package holdshort.lib_test

import data.holdshort.lib

test_reason_has_what_the_contract_wants if {
	lib.reason("a.example/B", "why") == {"code": "a.example/B", "message": "why"}
	lib.reason_until("a.example/B", "why", 5) == {"code": "a.example/B", "message": "why", "until_ns": 5}
}

test_labels_and_annotations_have_a_default if {
	workload := {"labels": {"team": "nlp"}, "annotations": {"cost": "7"}}
	lib.label("team", "") == "nlp" with input.workload as workload
	lib.label("other", "none") == "none" with input.workload as workload
	lib.annotation("cost", "") == "7" with input.workload as workload
	lib.annotation("other", "none") == "none" with input.workload as workload
}

test_total_is_zero_for_what_is_not_asked_for if {
	lib.total("cpu") == 3000 with input.workload as {"total": {"cpu": 3000}}
	lib.total("nvidia.com/gpu") == 0 with input.workload as {"total": {"cpu": 3000}}
}

namespace := {"name": "research", "labels": {"team": "nlp", "tier": "gold"}}

test_accepts_by_each_part_of_the_rule if {
	lib.accepts({"all": true}, namespace)
	lib.accepts({"names": ["other", "research"]}, namespace)
	lib.accepts({"labels": {"team": "nlp", "tier": "gold"}}, namespace)
	lib.accepts({"names": ["other"], "labels": {"team": "nlp"}}, namespace)
}

test_accepts_nothing_unless_told_to if {
	not lib.accepts({}, namespace)
	not lib.accepts({"all": false}, namespace)
	not lib.accepts({"labels": {}}, namespace)
	not lib.accepts({"labels": {"team": "nlp", "tier": "iron"}}, namespace)
	not lib.accepts({"names": ["other"]}, namespace)
}
