package author

import (
	"github.com/holdshort/holdshort/policies/engine"
)

const data = `holdshort:
  config:
    flavors: {gpu: {}}
    queues: {research: {namespaces: {all: true}, flavors: [gpu], quota: {gpu: {nvidia.com/gpu: 4}}}}
    custom: {most: 4}
`

const rules = `package holdshort.policy

import data.holdshort.lib

# METADATA
# title: Big Jobs are denied
deny contains lib.reason("team.example/TooBig", "too big") if lib.total("nvidia.com/gpu") > data.holdshort.config.custom.most

# METADATA
# title: Priority of the policy's own
default classify.priority := 2
`

const bigIsDenied = `package holdshort.policy_test

import data.holdshort.policy

test_big_is_denied if count(policy.deny) == 1 with input as {"workload": {"queue": "research", "total": {"nvidia.com/gpu": 5}}}
`

// bundleOf is data, rules and tests, if there are some.
func bundleOf(rules, tests string) engine.Bundle {
	files := map[string][]byte{"data.yaml": []byte(data), "limit.rego": []byte(rules)}
	if tests != "" {
		files["limit_test.rego"] = []byte(tests)
	}
	return engine.Bundle{Files: files}
}
