package holdshort.policy.catalog_test

import data.holdshort.policy.catalog

config := {
	"flavors": {"gpu": {}},
	"queues": {"research": {"flavors": ["gpu"], "quota": {"gpu": {"nvidia.com/gpu": 4}}}},
	"resources": {"ignored": ["example.com/*"]},
	"unreserved": "suspend",
	"rivals": {"fromPriority": 0},
}

test_everything_is_taken_from_config if {
	catalog.queues == config.queues with data.holdshort.config as config
	catalog.flavors == config.flavors with data.holdshort.config as config
	catalog.resources == config.resources with data.holdshort.config as config
	catalog.unreserved == "suspend" with data.holdshort.config as config
	catalog.rivals == config.rivals with data.holdshort.config as config
}

test_what_config_does_not_say_is_undefined if {
	not catalog.queues with data.holdshort.config as {}
	not catalog.unreserved with data.holdshort.config as {}
	not catalog.rivals with data.holdshort.config as {}
}
