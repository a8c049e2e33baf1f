package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/policy"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
)

// Options are what the process has, so that a test can have something else.
type Options struct {
	Args    []string
	Streams genericiooptions.IOStreams
	Now     func() time.Time
	Env     func(string) (string, bool)
}

// Run runs one command and returns its exit code.
func Run(ctx context.Context, o Options) int {
	root := newRoot(o)
	root.SetArgs(o.Args)
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
		err = failure.New("kubectl holdshort --help", "%w", err)
	}
	return failure.Print(o.Streams.ErrOut, err)
}

// requestsPerSecond is enough for the pages of a big list, and bounded.
const requestsPerSecond = 50

// defaultHost is what client-go falls back to when nobody named a cluster.
const defaultHost = "http://localhost:8080"

// plugin is what all commands share.
type plugin struct {
	Options
	config   *genericclioptions.ConfigFlags
	format   string
	noHeader bool
	printed  render.Printed
}

func newRoot(o Options) *cobra.Command {
	p := &plugin{Options: o, config: genericclioptions.NewConfigFlags(true)}
	p.config.CacheDir = nil // nothing is cached
	root := &cobra.Command{
		Use:   "kubectl-holdshort",
		Short: "Say why Jobs wait and what would let them start",
		Long: `Say why Jobs wait and what would let them start.

Results go to stdout, everything else to stderr.
Exit codes: 0 answered, 1 could not, 2 the answer is "no". That a Job waits is an answer: explain ends with 0.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl holdshort"},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.Version = buildVersion()
	root.SetVersionTemplate(versionLine() + "\n")
	root.SetIn(o.Streams.In)
	root.SetOut(o.Streams.Out)
	root.SetErr(o.Streams.ErrOut)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return failure.New(c.CommandPath()+" --help", "%w", err)
	})
	p.config.AddFlags(root.PersistentFlags())
	root.SetUsageTemplate(withoutClusterFlags(root.UsageTemplate()))
	root.AddCommand(p.queues(), p.jobs(), p.explain(), p.version(),
		policy.New(policy.Plugin{Streams: o.Streams, Now: o.Now, Config: p.clusterConfig}))
	return root
}

// outputFlags adds -o to a command.
func (p *plugin) outputFlags(c *cobra.Command) {
	c.Flags().StringVarP(&p.format, "output", "o", "", "one of: wide, json, yaml, name, jsonpath=TEMPLATE")
	formats := []string{render.FormatWide, render.FormatJSON, render.FormatYAML, render.FormatName, render.FormatJSONPath}
	p.completeFlag(c, "output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// connect reads the kubeconfig.
func (p *plugin) connect() (*cluster.Client, error) {
	config, err := p.clusterConfig()
	if err != nil {
		return nil, err
	}
	return cluster.New(config)
}

// clusterConfig is the cluster and user that flags and kubeconfig name.
func (p *plugin) clusterConfig() (*rest.Config, error) {
	if err := p.missingKubeconfig(); err != nil {
		return nil, err
	}
	config, err := p.config.ToRESTConfig()
	if err != nil {
		return nil, kubeconfigFailure(err)
	}
	raw, err := p.config.ToRawKubeConfigLoader().RawConfig()
	if err == nil && api.IsConfigEmpty(&raw) && config.Host == defaultHost && *p.config.APIServer == "" {
		return nil, failure.New("--kubeconfig FILE, or export KUBECONFIG=FILE", "no kubeconfig: which cluster?")
	}
	config.UserAgent = "kubectl-holdshort"
	config.QPS, config.Burst = requestsPerSecond, requestsPerSecond
	return config, nil
}

// missingKubeconfig is that the files which KUBECONFIG names are not there. The
// client library passes over those, as if nobody had named any.
func (p *plugin) missingKubeconfig() error {
	named, _ := p.Env(clientcmd.RecommendedConfigPathEnvVar)
	if named == "" || *p.config.KubeConfig != "" || *p.config.APIServer != "" {
		return nil
	}
	for _, file := range filepath.SplitList(named) {
		if _, err := os.Stat(file); file != "" && !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return failure.New("another file in KUBECONFIG, or --kubeconfig FILE", "KUBECONFIG names %s, which does not exist", named)
}

// namespace that -n or the kubeconfig names.
func (p *plugin) namespace() (string, error) {
	if err := p.missingKubeconfig(); err != nil {
		return "", err
	}
	namespace, _, err := p.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", kubeconfigFailure(err)
	}
	return namespace, nil
}

func kubeconfigFailure(err error) error {
	return failure.New("--kubeconfig FILE or --context NAME; kubectl config get-contexts lists them",
		"reading the kubeconfig: %w", err)
}

func (p *plugin) table() render.Table {
	namespace, err := p.namespace()
	if err != nil {
		namespace = "" // then everything is of another one
	}
	return render.Table{
		Now: p.Now(), Wide: p.format == render.FormatWide, Headers: !p.noHeader, Namespace: namespace, Printed: &p.printed,
	}
}

// withoutClusterFlags has one row in the place of the twenty flags that kubectl
// itself lists: many commands here do not even talk to a cluster.
func withoutClusterFlags(usage string) string {
	const begin, end = "Global Flags:", "{{end}}"
	before, flags, begins := strings.Cut(usage, begin)
	_, after, ends := strings.Cut(flags, end)
	if !begins || !ends {
		return usage
	}
	return before + "kubectl options lists the flags for the cluster, such as -n and --context." + end + after
}
