package app

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/holdshort/holdshort/ledger/rollout"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/webhook"
)

// newShadow is who hears the policy's decisions; nil if there is no place for a
// second policy.
func newShadow(c Config, source rollout.Source, policy *engine.Engine) (*rollout.Shadow, error) {
	var second rollout.Source
	if of, ok := source.(rollout.ConfigMaps); ok {
		second = rollout.ShadowConfigMaps{Of: of}
	}
	if c.PolicyShadowDir != "" {
		second = rollout.Folder(c.PolicyShadowDir)
	}
	if second == nil {
		return nil, nil
	}
	shadow, err := rollout.NewShadow(second, policy.Active, time.Now, metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return shadow, nil
}

// overheard is the policy in force as the webhook asks it, with the shadow
// listening.
type overheard struct {
	*engine.Revision
	shadow *rollout.Shadow
}

// activePolicy is nil, not a nil pointer in an interface, while there is none.
func activePolicy(policy *engine.Engine, shadow *rollout.Shadow) webhook.Policy {
	if revision := policy.Active(); revision != nil {
		return overheard{revision, shadow}
	}
	return nil
}

// Mutate implements webhook.Policy.
func (o overheard) Mutate(ctx context.Context, in *policies.Input) (policies.Mutation, error) {
	said, err := o.Revision.Mutate(ctx, in)
	if o.HasMutate() || o.shadow.HasMutate() {
		o.shadow.Hear(rollout.Asked{Revision: o.Revision, Entrypoint: "mutate", Input: in, Mutation: said, Err: err})
	}
	return said, err
}

// Deny implements webhook.Policy.
func (o overheard) Deny(ctx context.Context, in *policies.Input, given policies.Given) ([]policies.Reason, error) {
	denied, err := o.Revision.Deny(ctx, in)
	o.shadow.Hear(rollout.Asked{Revision: o.Revision, Entrypoint: "deny", Input: in, Given: given, Reasons: denied, Err: err})
	return denied, err
}

// Warn implements webhook.Policy.
func (o overheard) Warn(ctx context.Context, in *policies.Input, given policies.Given) ([]policies.Reason, error) {
	warned, err := o.Revision.Warn(ctx, in)
	o.shadow.Hear(rollout.Asked{Revision: o.Revision, Entrypoint: "warn", Input: in, Given: given, Reasons: warned, Err: err})
	return warned, err
}

// ReadsJob implements webhook.Policy.
func (o overheard) ReadsJob() bool { return o.Revision.ReadsJob() || o.shadow.ReadsJob() }
