package app

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/policies/engine"
)

// PolicySource says where the policy comes from, if not from a folder or from
// ConfigMaps alone, and what is believed. Secrets are files, never values.
type PolicySource struct {
	// PolicyLabelled takes the ConfigMaps with the label holdshort.dev/policy=true,
	// too. They write only what PolicyRoots grants.
	PolicyLabelled bool `json:"policyLabelled,omitempty"`
	// PolicyRoots are the paths that a ConfigMap may write, by its name; "*" is
	// for labelled ones that are not listed.
	PolicyRoots map[string][]string `json:"policyRoots,omitempty"`
	// PolicyURL is where an OPA bundle is fetched from.
	PolicyURL string `json:"policyURL,omitempty"`
	// PolicyPoll is the pause between two fetches.
	PolicyPoll metav1.Duration `json:"policyPoll,omitzero"`
	// PolicyCredentialsDir is a folder with the files of a Secret.
	PolicyCredentialsDir string `json:"policyCredentialsDir,omitempty"`
	// PolicyCAFile has the authorities of the server.
	PolicyCAFile string `json:"policyCAFile,omitempty"`
	// PolicyLoopbackHTTP allows a URL without TLS on this machine.
	PolicyLoopbackHTTP bool `json:"policyLoopbackHTTP,omitempty"`
	// PolicyKeysDir is a folder with public keys in PEM; a file's name without its
	// ending is the key's id.
	PolicyKeysDir string `json:"policyKeysDir,omitempty"`
	// PolicySignatureRequired refuses what is not signed by one of the keys.
	PolicySignatureRequired bool `json:"policySignatureRequired,omitempty"`
	// PolicySignatureScope is what the signature must be for.
	PolicySignatureScope string `json:"policySignatureScope,omitempty"`
}

// shortestPoll keeps a server from being asked all the time.
const shortestPoll = time.Second

func (p *PolicySource) flags(f *flag.FlagSet) {
	f.BoolVar(&p.PolicyLabelled, "policy-labelled", p.PolicyLabelled, "take ConfigMaps with the label "+rollout.PolicyLabel+"=true, too; they write what policy-roots grants")
	f.Var(&grants{&p.PolicyRoots}, "policy-roots", `paths that ConfigMaps may write, as JSON: {"team-a": ["holdshort.config.queues.team-a"]}; "*" is for labelled ones that are not listed`)
	f.StringVar(&p.PolicyURL, "policy-url", p.PolicyURL, "URL of an OPA bundle with the policy")
	f.DurationVar(&p.PolicyPoll.Duration, "policy-poll", p.PolicyPoll.Duration, "pause between two looks at policy-url (0: a minute)")
	f.StringVar(&p.PolicyCredentialsDir, "policy-credentials-dir", p.PolicyCredentialsDir, "folder with the files token, or username and password, or tls.crt and tls.key, for policy-url")
	f.StringVar(&p.PolicyCAFile, "policy-ca-file", p.PolicyCAFile, "authorities of policy-url (default: the system's)")
	f.BoolVar(&p.PolicyLoopbackHTTP, "policy-loopback-http", p.PolicyLoopbackHTTP, "allow policy-url to be http on this machine")
	f.StringVar(&p.PolicyKeysDir, "policy-keys-dir", p.PolicyKeysDir, "folder with public keys (KEYID.pem) that signatures of policies are checked with")
	f.BoolVar(&p.PolicySignatureRequired, "policy-signature-required", p.PolicySignatureRequired, "refuse a policy that is not signed by one of the keys")
	f.StringVar(&p.PolicySignatureScope, "policy-signature-scope", p.PolicySignatureScope, "scope that a signature must have")
}

// policyProblems says which settings of the policy don't go together.
func (c *Config) policyProblems() []error {
	var problems []error
	check := func(ok bool, name, says string) {
		if !ok {
			problems = append(problems, fmt.Errorf("%s: %s", name, says))
		}
	}
	atServer, inConfigMaps := c.PolicyURL != "", len(c.PolicyConfigMaps) > 0
	if atServer {
		_, err := rollout.NewServer(c.PolicyURL, c.PolicyLoopbackHTTP)
		check(err == nil, "policy-url", text(err))
		check(c.PolicyDir == "" && !inConfigMaps, "policy-url", "the policy has one source. Try: without policy-dir and policy-config-maps")
		check(c.PolicyPoll.Duration == 0 || c.PolicyPoll.Duration >= shortestPoll, "policy-poll", fmt.Sprintf("%v is too short. Try: 1s or more", c.PolicyPoll.Duration))
	}
	const noServer = "there is no server that it is for. Try: --policy-url"
	check(atServer || c.PolicyCredentialsDir == "", "policy-credentials-dir", noServer)
	check(atServer || c.PolicyCAFile == "", "policy-ca-file", noServer)
	check(atServer || c.PolicyPoll.Duration == 0, "policy-poll", noServer)
	check(atServer || !c.PolicyLoopbackHTTP, "policy-loopback-http", noServer)
	check(inConfigMaps || !c.PolicyLabelled, "policy-labelled", "the policy is not in ConfigMaps. Try: --policy-config-maps")
	check(inConfigMaps || len(c.PolicyRoots) == 0, "policy-roots", "the policy is not in ConfigMaps. Try: --policy-config-maps")
	_, err := c.granted()
	check(err == nil, "policy-roots", text(err))
	signed := c.PolicyKeysDir != "" || c.PolicySignatureRequired || c.PolicySignatureScope != ""
	check(!signed || !inConfigMaps, "policy-keys-dir", "ConfigMaps cannot be signed. Try: a signed bundle with --policy-url or --policy-dir")
	check(!signed || c.PolicyKeysDir != "", "policy-signature-required", "there is no key to check signatures with. Try: --policy-keys-dir")
	return problems
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (p *PolicySource) granted() (map[string]engine.Roots, error) {
	granted := map[string]engine.Roots{}
	for name, paths := range p.PolicyRoots {
		roots, err := engine.ParseRoots(paths)
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %s: %w", name, err)
		}
		granted[name] = roots
	}
	return granted, nil
}

// policySource is where the policy comes from.
func policySource(c Config, reader cache.Cache) (rollout.Source, error) {
	switch {
	case c.PolicyURL != "":
		server, err := rollout.NewServer(c.PolicyURL, c.PolicyLoopbackHTTP)
		if err != nil {
			return nil, fmt.Errorf("policy-url: %w", err)
		}
		server.Credentials, server.CA = c.PolicyCredentialsDir, c.PolicyCAFile
		return &rollout.HTTP{Server: server, Poll: c.PolicyPoll.Duration}, nil
	case c.PolicyDir != "":
		// If it is gone, the last good policy is in force, and PolicyRollout says so.
		return rollout.Folder(c.PolicyDir), nil
	}
	return c.policyConfigMaps(reader)
}

func (c *Config) policyConfigMaps(reader cache.Cache) (rollout.ConfigMaps, error) {
	granted, err := c.granted()
	if err != nil {
		return rollout.ConfigMaps{}, fmt.Errorf("policy-roots: %w", err)
	}
	source := rollout.ConfigMaps{Cache: reader, Namespace: c.Namespace, Names: c.PolicyConfigMaps, Granted: granted}
	if c.PolicyLabelled {
		source.Selector = labels.SelectorFromSet(labels.Set{rollout.PolicyLabel: "true"})
	}
	return source, nil
}

// engine for the policy, which believes what the keys vouch for.
func (p *PolicySource) engine(options engine.Options) (*engine.Engine, error) {
	var err error
	if options.Verification, err = p.verification(); err != nil {
		return nil, err
	}
	return engine.New(options), nil
}

// verification reads the keys. They are read once: whoever changes what is
// believed starts the manager anew, and sees whether it still believes its policy.
func (p *PolicySource) verification() (engine.Verification, error) {
	if p.PolicyKeysDir == "" {
		return engine.Verification{}, nil
	}
	entries, err := os.ReadDir(p.PolicyKeysDir)
	if err != nil {
		return engine.Verification{}, fmt.Errorf("policy-keys-dir: %w. Try: a folder with public keys in PEM", err)
	}
	keys := map[string][]byte{}
	for _, entry := range entries {
		id, isKey := strings.CutSuffix(entry.Name(), ".pem")
		if !isKey || strings.HasPrefix(id, ".") {
			continue
		}
		if keys[id], err = os.ReadFile(filepath.Join(p.PolicyKeysDir, entry.Name())); err != nil {
			return engine.Verification{}, fmt.Errorf("policy-keys-dir: %w", err)
		}
	}
	if len(keys) == 0 {
		return engine.Verification{}, fmt.Errorf("policy-keys-dir: %s has no KEYID.pem in it. Try: openssl pkey -in PRIVATE -pubout -out KEYID.pem", p.PolicyKeysDir)
	}
	verification, err := engine.NewVerification(keys, p.PolicySignatureScope, p.PolicySignatureRequired)
	if err != nil {
		return engine.Verification{}, fmt.Errorf("policy-keys-dir: %w", err)
	}
	return verification, nil
}

// grants is a flag that takes a JSON object of lists of paths.
type grants struct{ to *map[string][]string }

func (g *grants) String() string {
	if g.to == nil || len(*g.to) == 0 {
		return ""
	}
	text, err := json.Marshal(*g.to)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (g *grants) Set(value string) error {
	var parsed map[string][]string
	if err := yaml.UnmarshalStrict([]byte(value), &parsed); err != nil {
		return errors.New(`this is not a JSON object of lists. Try: {"team-a": ["holdshort.config.queues.team-a"]}`)
	}
	*g.to = parsed
	return nil
}
