package app

import (
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/holdshort/holdshort/ledger/rollout"
)

// policySource is where the policy comes from.
func policySource(c Config, reader cache.Cache) (rollout.Source, error) {
	if c.PolicyDir == "" {
		return rollout.ConfigMaps{Cache: reader, Namespace: c.Namespace, Names: c.PolicyConfigMaps}, nil
	}
	if info, err := os.Stat(c.PolicyDir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("policy-dir: %s is not a folder. Try: a folder with data.yaml in it", c.PolicyDir)
	}
	return rollout.Folder(c.PolicyDir), nil
}
