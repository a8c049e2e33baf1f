//go:build plane

package e2e

import (
	"testing"

	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

func TestS1OneQuotaTwoTrainings(t *testing.T) {
	ctx, s := scene(t, "research", stories.Policy, history.Limit{Queue: "research", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 4})
	must(t, stories.OneQuota(ctx, s, stories.Training{}))
}

func TestS1OneQuotaTwoTrainingsThatSaySuspendThemselves(t *testing.T) {
	ctx, s := scene(t, "research-again", stories.Policy, history.Limit{Queue: "research", Flavor: "gpu", Resource: "nvidia.com/gpu", Amount: 4})
	must(t, stories.OneQuota(ctx, s, stories.Training{Suspended: true}))
}

func TestS2CPUAndMemory(t *testing.T) {
	ctx, s := scene(t, "lab", stories.Policy,
		history.Limit{Queue: "lab", Flavor: "cpu", Resource: "cpu", Amount: 4000},
		history.Limit{Queue: "lab", Flavor: "cpu", Resource: "memory", Amount: 8 << 30})
	must(t, stories.CPUAndMemory(ctx, s))
}

func TestS3TheTruthAboutTheMachines(t *testing.T) {
	ctx, s := scene(t, "vision", stories.Policy, history.Limit{Queue: "vision", Flavor: "h100", Resource: "nvidia.com/gpu", Amount: 8})
	must(t, stories.TruthAboutMachines(ctx, s))
}
