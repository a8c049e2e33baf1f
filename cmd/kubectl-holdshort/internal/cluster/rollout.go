package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

// Rollout reads what is in force, and what people asked for.
func (c *Client) Rollout(ctx context.Context) (*v1alpha1.PolicyRollout, error) {
	found := &v1alpha1.PolicyRollout{}
	err := c.queues.Get().Resource("policyrollouts").Name(v1alpha1.PolicyRolloutName).Do(ctx).Into(found)
	switch {
	case apierrors.IsForbidden(err):
		return nil, failure.New("ask for the right to get policyrollouts.holdshort.dev (the cluster role view has it)",
			"you may not read the PolicyRollout")
	case apierrors.IsNotFound(err):
		return nil, failure.New("another cluster with --context, or start the manager: it makes one",
			"there is no PolicyRollout: holdshort is not installed, or its manager never ran")
	case err != nil:
		return nil, other(err, "reading the PolicyRollout")
	}
	return found, nil
}

// AskRollout replaces what people ask for, unless somebody was faster: seen is
// the object that the person looked at. It is all that the plugin ever writes.
func (c *Client) AskRollout(ctx context.Context, seen *v1alpha1.PolicyRollout, spec v1alpha1.PolicyRolloutSpec) error {
	ask := map[string]any{}
	for field, digest := range map[string]v1alpha1.Digest{
		"approve": spec.Approve, "discard": spec.Discard, "pin": spec.Pin, "promote": spec.Promote,
	} {
		ask[field] = nil
		if digest != "" {
			ask[field] = digest
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": seen.ResourceVersion}, "spec": ask,
	})
	if err != nil {
		return fmt.Errorf("writing the PolicyRollout: %w", err)
	}
	err = c.queues.Patch(types.MergePatchType).Resource("policyrollouts").Name(v1alpha1.PolicyRolloutName).Body(patch).Do(ctx).Error()
	switch {
	case apierrors.IsForbidden(err):
		return failure.New("ask for the cluster role holdshort-policy-approver",
			"you may not say which policy shall be in force")
	case apierrors.IsConflict(err):
		return failure.New("kubectl holdshort policy status, then once more", "the rollout has changed while you looked; nothing is done")
	case err != nil:
		return other(err, "writing the PolicyRollout")
	}
	return nil
}
