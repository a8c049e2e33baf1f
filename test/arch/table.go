package arch

import "slices"

// module is the path of this module.
const module = "github.com/holdshort/holdshort"

// Row is what one package, and all below it that have no row of their own, is
// for and may import. Test files may import more.
type Row struct {
	Package string
	Duty    string
	Ours    []string // packages of ours; a trailing /... means all below, too
	Third   []string // prefixes of foreign import paths
	Never   string   // what it keeps out, and why
	// Without are prefixes that may not even come in through others.
	Without []string
	// Pure packages have no clock, no log, no environment.
	Pure bool
}

// Prefixes that rows share.
const (
	kubeAPI     = "k8s.io/api"
	machinery   = "k8s.io/apimachinery"
	quantities  = "k8s.io/apimachinery/pkg/api/resource"
	syntax      = "k8s.io/apimachinery/pkg/util/validation"
	clientGo    = "k8s.io/client-go"
	runtimeLib  = "sigs.k8s.io/controller-runtime"
	opa         = "github.com/open-policy-agent"
	logr        = "github.com/go-logr/logr"
	prometheus  = "github.com/prometheus/client_golang"
	certManager = "github.com/cert-manager/cert-manager/pkg/server/tls"
)

// Table is the rule of who may import whom.
func Table() []Row {
	rows := contract()
	rows = append(rows, values()...)
	rows = append(rows, core()...)
	rows = append(rows, trial()...)
	return append(rows, shell()...)
}

// cluster is what talks to a cluster.
func cluster() []string { return []string{clientGo, runtimeLib} }

// plus never writes into its first argument, which rows share.
func plus(list []string, more ...string) []string { return slices.Concat(list, more) }

// contract is what users write against.
func contract() []Row {
	return []Row{
		{
			Package: "policies", Duty: "the contract's Go types, the default bundle, the starter data",
			Third: []string{quantities}, Without: plus(cluster(), kubeAPI, opa), Pure: true,
			Never: "the ledger and other Kubernetes types: users write against this contract",
		},
		{
			Package: "policies/engine", Duty: "loads, checks, compiles and evaluates bundles; the only importer of OPA",
			Ours: []string{"policies"}, Third: []string{opa, quantities, syntax, "go.yaml.in/yaml", "sigs.k8s.io/yaml"},
			Without: plus(cluster(), kubeAPI),
			Never:   "the ledger and Kubernetes: a policy can be tested with no cluster",
		},
		{
			Package: "policies/engine/testrun", Duty: "runs the tests of a bundle, and says what did not hold and what they reach",
			Ours: []string{"policies/engine"}, Third: []string{opa},
			Without: plus(cluster(), kubeAPI),
			Never:   "the ledger and Kubernetes, as the engine does; the manager and the plugin run tests alike",
		},
		{
			Package: "policies/engine/author", Duty: "what a policy's author needs: lints, format, benchmarks, bundles to ship",
			Ours: []string{"policies", "policies/engine", "policies/engine/testrun"}, Third: []string{opa},
			Without: plus(cluster(), kubeAPI),
			Never:   "the ledger and Kubernetes, as the engine does; it judges by the engine alone",
		},
		{
			Package: "policies/record", Duty: "records of what the policy was asked and said",
			Ours: []string{"policies", "policies/engine"}, Without: plus(cluster(), kubeAPI),
			Never: "whoever asks: a decision is recorded where it is made",
		},
		{
			Package: "policies/replay", Duty: "which recorded decisions another policy would make otherwise",
			Ours: []string{"policies/engine", "policies/record"}, Without: plus(cluster(), kubeAPI),
			Never: "the cluster: records are all that it looks at",
		},
		{
			Package: "ledger/api/v1alpha1", Duty: "types of the custom resources",
			Third: []string{machinery}, Without: cluster(), Pure: true,
			Never: "anything of ours: others read these types too",
		},
	}
}

// values are plain data that everything else is made of.
func values() []Row {
	without := plus(cluster(), kubeAPI, opa)
	return []Row{
		{
			Package: "ledger/resource", Duty: "amounts of resources as integers that saturate",
			Without: plus(without, machinery), Pure: true,
			Never: "anything: a leaf under every sum",
		},
		{
			Package: "ledger/reason", Duty: "every reason code with its sentence and advice",
			Without: plus(without, machinery), Pure: true,
			Never: "anything: docs, metrics and the plugin read it",
		},
		{
			Package: "ledger/demand", Duty: "what a workload asks for and was given",
			Ours: []string{"ledger/reason", "ledger/resource", "policies"}, Without: without, Pure: true,
			Never: "Kubernetes objects: deciding works on plain values",
		},
		{
			Package: "ledger/supply", Duty: "what the cluster has and who holds it",
			Ours: []string{"ledger/demand", "ledger/reason", "ledger/resource", "policies"}, Without: without, Pure: true,
			Never: "Kubernetes objects: deciding works on plain values",
		},
		{
			Package: "ledger/effect", Duty: "what is to be written, as data",
			Ours: []string{"ledger/demand", "ledger/reason", "ledger/resource", "policies"}, Without: without, Pure: true,
			Never: "whoever makes or writes effects: neither knows the other",
		},
		{
			Package: "ledger/intake", Duty: "Kubernetes objects → demand and supply; which Jobs are ours",
			Ours:    []string{"ledger/demand", "ledger/nsquota", "ledger/reason", "ledger/resource", "ledger/supply", "policies"},
			Third:   []string{kubeAPI, machinery, "k8s.io/component-helpers"},
			Without: plus(cluster(), opa), Pure: true,
			Never: "a client: webhook, plugin and loop read a Job in the same way",
		},
	}
}

// core decides.
func core() []Row {
	without := plus(cluster(), kubeAPI, opa)
	plain := []string{"ledger/demand", "ledger/reason", "ledger/resource", "ledger/supply", "policies"}
	with := func(more ...string) []string { return plus(more, plain...) }
	return []Row{
		{
			Package: "ledger/quota", Duty: "who may use how much",
			Ours: []string{"ledger/reason", "ledger/resource", "policies"}, Without: without, Pure: true,
			Never: "Kubernetes, OPA, a clock: arithmetic only",
		},
		{
			Package: "ledger/nsquota", Duty: "what pods take of the ResourceQuotas of their namespace",
			Ours: []string{"ledger/demand", "ledger/reason", "ledger/resource", "policies"}, Without: without, Pure: true,
			Never: "Kubernetes, OPA, a clock: arithmetic only",
		},
		{
			Package: "ledger/fit", Duty: "whether a gang has room on real nodes",
			Ours: with(), Without: without, Pure: true,
			Never: "Kubernetes, OPA, a clock: arithmetic only",
		},
		{
			Package: "ledger/dra", Duty: "the devices of dynamic resource allocation, as rows of integers per node",
			Ours: []string{"ledger/resource", "ledger/supply"},
			Third: []string{
				kubeAPI, machinery, "k8s.io/component-helpers", "k8s.io/dynamic-resource-allocation", "github.com/google/cel-go",
			},
			Without: plus(cluster(), opa),
			Never:   "a client, a clock, and whoever decides: the same objects give the same rows, in whatever order they came",
		},
		{
			Package: "ledger/book", Duty: "who holds what: entries, snapshot, self-check",
			Ours: with("ledger/fit", "ledger/nsquota", "ledger/quota"), Without: without, Pure: true,
			Never: "Kubernetes, OPA, a clock, a log: rebuilt and running must be equal",
		},
		{
			Package: "ledger/decide", Duty: "order, choice of flavor, the plan",
			Ours: with("ledger/book", "ledger/effect", "ledger/fit", "ledger/nsquota", "ledger/quota"), Without: without, Pure: true,
			Never: "engine, Kubernetes, a clock, a context, a log: the same values give the same plan",
		},
		{
			Package: "ledger/estimate", Duty: "when those who wait will start: a range, played forward from now by the live system's decisions",
			Ours: with("ledger/book", "ledger/decide", "ledger/effect", "ledger/quota"), Without: without, Pure: true,
			Never: "a client, a clock, a way to decide of its own: what is known now says what is likely",
		},
		{
			Package: "ledger/sim", Duty: "book and plan under a clock of its own: what a policy comes to over time",
			Ours: with("ledger/book", "ledger/decide", "ledger/effect", "ledger/quota"), Without: without, Pure: true,
			Never: "a client, a clock, a way to decide of its own: the same seed has the same run",
		},
	}
}

// trial is what a policy goes through before it is in force.
func trial() []Row {
	kube := plus(cluster(), kubeAPI, machinery)
	return []Row{
		{
			Package: "ledger/answer", Duty: "what a policy said, in the words in which a Job is told why it waits",
			Ours: []string{"ledger/reason", "policies", "policies/engine"}, Without: plus(cluster(), kubeAPI),
			Never: "the loop: whoever plays a policy through tells it alike",
		},
		{
			Package: "ledger/scenario", Duty: "plays a bundle's scenarios: its rules, the live system's decisions, a clock of their own",
			Ours: []string{
				"ledger/answer", "ledger/decide", "ledger/demand", "ledger/intake", "ledger/reason", "ledger/resource", "ledger/sim", "ledger/supply",
				"policies", "policies/engine", "policies/engine/testrun",
			},
			Third: []string{kubeAPI, machinery}, Without: cluster(),
			Never: "a cluster, and the loop: the manager and the plugin play alike",
		},
		{
			Package: "ledger/rollout", Duty: "policy bundles from their source into force, and what came of it",
			Ours:  []string{"ledger/api/v1alpha1", "ledger/reason", "ledger/resource", "policies", "policies/engine", "policies/engine/testrun"},
			Third: plus(kube, logr, prometheus),
			Never: "decide, book and the loop: a policy is judged by itself",
		},
	}
}

// shell is what has side effects.
func shell() []Row {
	kube := plus(cluster(), kubeAPI, machinery)
	return []Row{
		{
			Package: "ledger/apply", Duty: "effects → writes and events",
			Ours: []string{
				"ledger/api/v1alpha1", "ledger/demand", "ledger/effect", "ledger/intake", "ledger/reason", "ledger/resource", "policies",
			},
			Third: plus(kube, logr), Without: []string{opa},
			Never: "decide, book and engine: it writes and has no opinions",
		},
		{
			Package: "ledger", Duty: "the loop: the one shell that drives the core",
			Ours:  []string{"ledger/...", "policies", "policies/engine"},
			Third: plus(kube, logr, prometheus, "golang.org/x/time/rate"),
			Never: "the webhook: admission must not wait for a round",
		},
		{
			Package: "webhook", Duty: "suspends, stamps, denies, warns",
			Ours: []string{
				"ledger/demand", "ledger/intake", "ledger/reason", "ledger/resource", "policies", "policies/engine",
			},
			Third: plus(kube, logr, "gomodules.xyz/jsonpatch"),
			Never: "the loop, book and decide: admission stays fast and keeps no state",
		},
		{
			Package: "webhook/certs", Duty: "serving certificates and the caBundle",
			Third: plus(kube, logr, certManager, "golang.org/x/sync"),
			Never: "anything of ours: it knows names, not Jobs",
		},
		{
			Package: "webhook/policycheck", Duty: "compiles a policy while it is applied, and refuses what is wrong with it",
			Ours: []string{"policies/engine", "policies/engine/testrun"}, Third: kube,
			Never: "the rollout and everything that puts a policy into force: it answers and changes nothing",
		},
		{
			Package: "cmd/holdshort", Duty: "the manager: reads its configuration and wires the parts",
			Ours:  []string{"ledger", "ledger/api/v1alpha1", "ledger/intake", "ledger/rollout", "ledger/scenario", "policies", "policies/engine", "policies/engine/testrun", "policies/record", "webhook/..."},
			Third: plus(kube, logr, "k8s.io/klog", "sigs.k8s.io/yaml", "golang.org/x/sync"),
			Never: "the core: logic has no place where things are wired",
		},
		{
			Package: "cmd/kubectl-holdshort", Duty: "the kubectl plugin",
			Ours: []string{
				"ledger/api/v1alpha1", "ledger/demand", "ledger/intake", "ledger/reason", "ledger/resource", "ledger/scenario", "policies", "policies/engine",
				"policies/engine/author", "policies/engine/testrun", "policies/record", "policies/replay",
			},
			Third: []string{
				kubeAPI, machinery, clientGo, "k8s.io/cli-runtime", "github.com/spf13/cobra", "sigs.k8s.io/yaml", "golang.org/x/term",
			},
			Without: []string{runtimeLib},
			Never:   "loop, apply and webhook: it reads with its user's rights, and writes what a person says about policies only",
		},
		{
			Package: "test", Duty: "control plane, stories, demo, bench, this check",
			Ours: []string{"..."}, Third: []string{""},
			Never: "being imported: nothing outside test/ knows it",
		},
	}
}
