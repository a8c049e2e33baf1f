package policies_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/author"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// bundles are the ready-made policies, by name.
func bundles(t *testing.T) map[string]engine.Bundle {
	t.Helper()
	folders, err := os.ReadDir("bundles")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]engine.Bundle{}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue // the list of them
		}
		if all[folder.Name()], err = engine.ReadDir(filepath.Join("bundles", folder.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 10 {
		t.Fatalf("%d bundles, so this test misses some", len(all))
	}
	return all
}

func compiled(t *testing.T, bundle engine.Bundle) *engine.Revision {
	t.Helper()
	revision, err := engine.Compile(t.Context(), bundle, engine.Options{Deadline: 5 * time.Second})
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	return revision
}

func TestReadyMadeBundlesAreTakenAndTheirTestsPass(t *testing.T) {
	for name, bundle := range bundles(t) {
		t.Run(name, func(t *testing.T) {
			verdict, err := author.Check(t.Context(), bundle)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range verdict.Problems {
				t.Errorf("refused: %s", problem)
			}
			if passed := verdict.Report.Count(testrun.Pass); passed < 3 || passed < len(verdict.Report.Results) {
				t.Errorf("%d tests of %d pass, want all, and at least 3", passed, len(verdict.Report.Results))
			}
			warned := false
			for _, warning := range verdict.Warnings {
				if !strings.Contains(warning.Message, "by this version") {
					t.Errorf("warned of: %s", warning)
				}
				warned = true
			}
			readme, err := os.ReadFile(filepath.Join("bundles", name, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			// The README's own promise, and the line that make policy runs.
			if warned && !strings.Contains(string(readme), "**Not enforced yet:**") {
				t.Error("the README does not say what is not enforced yet, and the engine does")
			}
			if !strings.Contains(string(readme), "\nopa test ") || !strings.Contains(string(readme), "policies/default policies/bundles/"+name+"\n") {
				t.Error("the README does not say how to test it")
			}
		})
	}
}

func TestNightQuotasFollowTheClocks(t *testing.T) {
	revision := compiled(t, bundles(t)["night-and-weekend"])
	for moment, want := range map[string]int64{
		"2026-03-27T18:59:00Z": 4,  // Friday, 19:59 in winter
		"2026-03-27T19:00:00Z": 14, // 20:00
		"2026-03-30T05:59:00Z": 14, // Monday, 07:59 in summer
		"2026-03-30T06:00:00Z": 4,
	} {
		now, err := time.Parse(time.RFC3339, moment)
		if err != nil {
			t.Fatal(err)
		}
		catalog, err := revision.EvaluateCatalog(t.Context(), now, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := catalog.Queues["batch"].Quota["gpu"]["nvidia.com/gpu"].Nominal; got != want {
			t.Errorf("at %s the quota is %d, want %d", moment, got, want)
		}
	}
}

func TestSharesFollowTheMachines(t *testing.T) {
	revision := compiled(t, bundles(t)["capacity-share"])
	catalog, err := revision.EvaluateCatalog(t.Context(), time.Unix(0, 0), policies.CatalogCapacity{
		"gpu": {"nvidia.com/gpu": {Allocatable: 41, Unhealthy: 8}, "cpu": {Allocatable: 64001}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]policies.Limit{"gpu": {"nvidia.com/gpu": {Nominal: 24}, "cpu": {Nominal: 38400}}}
	if diff := cmp.Diff(want, catalog.Queues["vision"].Quota); diff != "" {
		t.Errorf("60 percent (-want +got):\n%s", diff)
	}
}
