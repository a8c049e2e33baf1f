package intake_test

import (
	"os"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/policies"
)

type managedTable struct {
	Scope managedScope  `json:"scope"`
	Cases []managedCase `json:"cases"`
}

type managedScope struct {
	OwnNamespace      string `json:"ownNamespace"`
	ManagedNamespaces string `json:"managedNamespaces"`
}

type managedCase struct {
	Name      string             `json:"name"`
	Scope     *managedScope      `json:"scope"`
	Namespace policies.Namespace `json:"namespace"`
	Job       batchv1.Job        `json:"job"`
	Want      bool               `json:"want"`
}

// The chart's admission policies are tested on the same table.
func TestManagedFollowsTheTable(t *testing.T) {
	text, err := os.ReadFile("testdata/managed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table managedTable
	if err := yaml.UnmarshalStrict(text, &table); err != nil {
		t.Fatal(err)
	}
	for _, c := range table.Cases {
		t.Run(c.Name, func(t *testing.T) {
			given := table.Scope
			if c.Scope != nil {
				given = *c.Scope
			}
			scope := intake.Scope{OwnNamespace: given.OwnNamespace}
			if given.ManagedNamespaces != "" {
				if scope.ManagedNamespaces, err = labels.Parse(given.ManagedNamespaces); err != nil {
					t.Fatal(err)
				}
			}
			if got := intake.Managed(&c.Job, c.Namespace, scope); got != c.Want {
				t.Errorf("Managed = %t, want %t", got, c.Want)
			}
		})
	}
}
