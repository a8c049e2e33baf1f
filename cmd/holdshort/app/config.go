package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/rollout"
)

// Config is everything the manager can be told, by flags (webhook-port) or by a
// file (webhookPort). Unknown names are errors in both.
type Config struct {
	// Kubeconfig to run outside the cluster; empty: the in-cluster identity.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Namespace the manager keeps its own objects in.
	Namespace string `json:"namespace,omitempty"`
	// Name prefixes its objects: the chart's full name.
	Name string `json:"name,omitempty"`
	// ManagedNamespaces narrows where Jobs are managed; nil: everywhere but in
	// the system's namespaces.
	ManagedNamespaces *metav1.LabelSelector `json:"managedNamespaces,omitempty"`
	// PolicyDir is a folder with the bundle. Empty: PolicyConfigMaps.
	PolicyDir string `json:"policyDir,omitempty"`
	// PolicyConfigMaps are the ConfigMaps in Namespace with the bundle.
	PolicyConfigMaps []string `json:"policyConfigMaps,omitempty"`
	// PolicyShadowDir is a folder with a second bundle, which is compared with the
	// one in force. Empty: ConfigMaps named like PolicyConfigMaps, with -shadow.
	PolicyShadowDir string `json:"policyShadowDir,omitempty"`
	// RequirePolicyTests refuses a bundle that has no tests of its own.
	RequirePolicyTests bool `json:"requirePolicyTests,omitempty"`
	// PolicyApproval says when a person has to approve a policy: auto (if it harms
	// more of the Jobs than PolicyHarmedPercent), always, or never (such a one is
	// refused).
	PolicyApproval rollout.Approval `json:"policyApproval,omitempty"`
	// PolicyHarmedPercent is how many of the Jobs a policy may harm without
	// anybody's approval: fail to judge, deny, leave without a queue.
	PolicyHarmedPercent int `json:"policyHarmedPercent,omitempty"`
	// Decisions are the records of what the policy was asked and said.
	Decisions Decisions `json:"decisions,omitzero"`
	// Webhook is where the admission webhook listens.
	WebhookHost string `json:"webhookHost,omitempty"`
	WebhookPort int    `json:"webhookPort,omitempty"`
	// WebhookDNSNames are the names that its certificate is good for. Empty: the
	// Service's, and localhost when a kubeconfig is given.
	WebhookDNSNames []string `json:"webhookDNSNames,omitempty"`
	// CADuration and CertDuration are how long the webhook's authority and
	// certificate last; both are renewed after two thirds. 0: a year and a week.
	CADuration   metav1.Duration `json:"caDuration,omitzero"`
	CertDuration metav1.Duration `json:"certDuration,omitzero"`
	// LedgerUser is the name that the API server knows the manager by. Empty:
	// the ServiceAccount NAME in NAMESPACE.
	LedgerUser string `json:"ledgerUser,omitempty"`
	// HealthAddress and MetricsAddress, host:port; "0" turns one off.
	HealthAddress  string `json:"healthAddress,omitempty"`
	MetricsAddress string `json:"metricsAddress,omitempty"`
	// LogFormat is json or text.
	LogFormat string `json:"logFormat,omitempty"`
	PolicySource
}

// Defaults returns the configuration that an empty command line means.
func Defaults() Config {
	return Config{
		PolicyApproval: rollout.ApprovalAuto, PolicyHarmedPercent: 20,
		Namespace: "holdshort-system", Name: "holdshort",
		Decisions:   Decisions{FileMiB: 100, Files: 3, Every: 100},
		WebhookPort: 9443, HealthAddress: ":8081", MetricsAddress: ":8080", LogFormat: "json",
	}
}

// Parse reads the command line: a --config file first, then the flags over it.
func Parse(args []string, defaults Config) (Config, error) {
	file, err := configFile(args)
	if err != nil {
		return Config{}, err
	}
	c := defaults
	if file != "" {
		if err := c.readFile(file); err != nil {
			return Config{}, err
		}
	}
	flags := c.flags()
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
		return Config{}, err
	} else if err != nil {
		return Config{}, fmt.Errorf("%w. Try: holdshort -help", err)
	}
	if flags.NArg() > 0 {
		return Config{}, fmt.Errorf("unexpected argument %q. Try: holdshort -help", flags.Arg(0))
	}
	if len(c.PolicyConfigMaps) == 0 && c.PolicyDir == "" && c.PolicyURL == "" {
		c.PolicyConfigMaps = []string{c.Name + "-policy"}
	}
	if c.LedgerUser == "" {
		c.LedgerUser = fmt.Sprintf("system:serviceaccount:%s:%s", c.Namespace, c.Name)
	}
	return c, c.validate()
}

// configFile finds --config without judging the other flags.
func configFile(args []string) (string, error) {
	for i, arg := range args {
		name, value, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || name != "config" {
			continue
		}
		if has {
			return value, nil
		}
		if i+1 < len(args) {
			return args[i+1], nil
		}
		return "", errors.New("flag --config needs a file. Try: --config holdshort.yaml")
	}
	return "", nil
}

func (c *Config) readFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	if err := yaml.UnmarshalStrict(data, c); err != nil {
		return fmt.Errorf("configuration %s: %w. Try: holdshort -help for the names that exist", path, err)
	}
	return nil
}

func (c *Config) flags() *flag.FlagSet {
	f := flag.NewFlagSet("holdshort", flag.ContinueOnError)
	f.SetOutput(io.Discard) // one line about what is wrong, not the whole list
	_ = f.String("config", "", "file with the same settings as these flags, in YAML")
	f.StringVar(&c.Kubeconfig, "kubeconfig", c.Kubeconfig, "kubeconfig to run outside the cluster")
	f.StringVar(&c.Namespace, "namespace", c.Namespace, "namespace of the manager's own objects")
	f.StringVar(&c.Name, "name", c.Name, "prefix of the manager's own objects (the chart's full name)")
	f.Var(&selector{&c.ManagedNamespaces}, "managed-namespaces", "label selector of the namespaces to manage (default: all but the system's)")
	f.StringVar(&c.PolicyDir, "policy-dir", c.PolicyDir, "folder with the policy bundle")
	f.Var((*list)(&c.PolicyConfigMaps), "policy-config-maps", "ConfigMaps with the policy bundle, comma-separated (default: NAME-policy)")
	f.StringVar(&c.PolicyShadowDir, "policy-shadow-dir", c.PolicyShadowDir, "folder with a second bundle to compare with (default: the policy's ConfigMaps with -shadow, where there are any)")
	f.BoolVar(&c.RequirePolicyTests, "require-policy-tests", c.RequirePolicyTests, "refuse a policy that has no tests")
	f.StringVar((*string)(&c.PolicyApproval), "policy-approval", string(c.PolicyApproval), "auto: approve by hand what harms more Jobs than policy-harmed-percent; always: approve everything; never: refuse it")
	f.IntVar(&c.PolicyHarmedPercent, "policy-harmed-percent", c.PolicyHarmedPercent, "how many of the Jobs a policy may harm without approval")
	c.Decisions.flags(f)
	f.StringVar(&c.WebhookHost, "webhook-host", c.WebhookHost, "address that the webhook listens on (default: all)")
	f.IntVar(&c.WebhookPort, "webhook-port", c.WebhookPort, "port of the webhook")
	f.Var((*list)(&c.WebhookDNSNames), "webhook-dns-names", "names that the webhook's certificate is good for, comma-separated")
	f.DurationVar(&c.CADuration.Duration, "ca-duration", c.CADuration.Duration, "how long the webhook's authority lasts (0: a year)")
	f.DurationVar(&c.CertDuration.Duration, "cert-duration", c.CertDuration.Duration, "how long its certificate lasts (0: a week)")
	f.StringVar(&c.LedgerUser, "ledger-user", c.LedgerUser, "name that the API server knows the manager by (default: ServiceAccount NAME in NAMESPACE)")
	f.StringVar(&c.HealthAddress, "health-address", c.HealthAddress, "host:port of /healthz and /readyz; 0: off")
	f.StringVar(&c.MetricsAddress, "metrics-address", c.MetricsAddress, "host:port of /metrics; 0: off")
	f.StringVar(&c.LogFormat, "log-format", c.LogFormat, "json or text")
	c.PolicySource.flags(f)
	return f
}

func (c *Config) validate() error {
	problems := c.policyProblems()
	check := func(ok bool, name, value, try string) {
		if !ok {
			problems = append(problems, fmt.Errorf("%s: %q is not valid. Try: %s", name, value, try))
		}
	}
	check(len(validation.IsDNS1123Label(c.Namespace)) == 0, "namespace", c.Namespace, "a namespace's name, like holdshort-system")
	check(len(validation.IsDNS1123Label(c.Name)) == 0, "name", c.Name, "the chart's full name, like holdshort")
	_, err := metav1.LabelSelectorAsSelector(c.ManagedNamespaces)
	check(err == nil, "managed-namespaces", metav1.FormatLabelSelector(c.ManagedNamespaces), "a label selector, like team in (a,b)")
	check(c.WebhookPort > 0 && c.WebhookPort < 1<<16, "webhook-port", fmt.Sprint(c.WebhookPort), "a port from 1 to 65535")
	problems = append(problems, c.Decisions.validate()...)
	check(c.LogFormat == "json" || c.LogFormat == "text", "log-format", c.LogFormat, "json or text")
	check(c.PolicyDir == "" || len(c.PolicyConfigMaps) == 0, "policy-dir", c.PolicyDir, "either a folder or ConfigMaps, not both")
	approvals := []rollout.Approval{rollout.ApprovalAuto, rollout.ApprovalAlways, rollout.ApprovalNever}
	check(slices.Contains(approvals, c.PolicyApproval), "policy-approval", string(c.PolicyApproval), "auto, always or never")
	check(c.PolicyHarmedPercent >= 0 && c.PolicyHarmedPercent <= 100, "policy-harmed-percent", fmt.Sprint(c.PolicyHarmedPercent), "a number from 0 to 100")
	return errors.Join(problems...)
}

// selector is a flag that takes a label selector: as kubectl takes it, or as a
// JSON object like the chart's value.
type selector struct{ to **metav1.LabelSelector }

func (s *selector) String() string {
	if s.to == nil || *s.to == nil {
		return ""
	}
	return metav1.FormatLabelSelector(*s.to)
}

func (s *selector) Set(value string) error {
	parsed := &metav1.LabelSelector{}
	var err error
	if strings.HasPrefix(value, "{") {
		err = yaml.UnmarshalStrict([]byte(value), parsed)
	} else {
		parsed, err = metav1.ParseToLabelSelector(value)
	}
	if err != nil {
		return fmt.Errorf("%q is not a label selector: %w. Try: team in (a,b)", value, err)
	}
	*s.to = parsed
	return nil
}

// list is a comma-separated flag.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = nil
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			*l = append(*l, item)
		}
	}
	return nil
}
