package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/policies"
)

// arithmetic is a quota tree, what is used of it, and what follows.
type arithmetic struct {
	Name    string       `json:"name"`
	Cohorts []caseCohort `json:"cohorts"`
	Queues  []caseQueue  `json:"queues"`
	Usage   []struct {
		Queue    string `json:"queue"`
		Flavor   string `json:"flavor"`
		Resource string `json:"resource"`
		Amount   string `json:"amount"`
	} `json:"usage"`
	Want struct {
		Queues  []wantNode `json:"queues"`
		Cohorts []wantNode `json:"cohorts"`
	} `json:"want"`
}

type wantNode struct {
	Name             string `json:"name"`
	Share            string `json:"share"`
	ShareExact       string `json:"shareExact"`
	DominantResource string `json:"dominantResource"`
	Quotas           []struct {
		Flavor             string `json:"flavor"`
		Resource           string `json:"resource"`
		Usage              string `json:"usage"`
		SubtreeQuota       string `json:"subtreeQuota"` // of a cohort
		Available          string `json:"available"`
		PotentialAvailable string `json:"potentialAvailable"`
		Borrowed           string `json:"borrowed"` // of a queue
	} `json:"quotas"`
}

// reckon works a tree out and tells what differs.
func reckon(a arithmetic) ([]string, error) {
	tree, nodes, err := a.tree()
	if err != nil {
		return nil, err
	}
	for _, u := range a.Usage {
		n, err := amount(u.Resource, u.Amount)
		if err != nil {
			return nil, fmt.Errorf("usage of %s: %w", u.Queue, err)
		}
		at, pair := tree.Queue(u.Queue), tree.Pair(u.Flavor, u.Resource)
		if at == quota.None || pair == quota.None {
			return nil, fmt.Errorf("usage of %s on %s in %s, which has no quota of it", u.Resource, u.Flavor, u.Queue)
		}
		tree.Add(at, pair, n)
	}
	var found []string
	for _, w := range a.Want.Queues {
		found = append(found, w.differ(tree, tree.Queue(w.Name), true)...)
	}
	for _, w := range a.Want.Cohorts {
		if n, ok := nodes[w.Name]; ok { // else no queue is below it: nobody can ask for it
			found = append(found, w.differ(tree, n, false)...)
		}
	}
	return found, nil
}

// tree is the quotas as the deciding core takes them from a catalog, and its
// cohorts by name.
func (a arithmetic) tree() (*quota.Tree, map[string]quota.NodeID, error) {
	catalog, err := catalog(testCase{Cohorts: a.Cohorts, Queues: a.Queues})
	if err != nil {
		return nil, nil, err
	}
	limits, err := compile(catalog)
	if err != nil {
		return nil, nil, err
	}
	tree, nodes := quota.NewTree(limits), map[string]quota.NodeID{}
	for name := range catalog.Queues {
		for n := tree.Parent(tree.Queue(name)); n != quota.None; n = tree.Parent(n) {
			nodes[tree.Name(n)] = n
		}
	}
	return tree, nodes, nil
}

// compile makes the limits of a catalog.
func compile(catalog *policies.Catalog) (*quota.Limits, error) {
	var queues, cohorts []quota.Member
	for name, q := range catalog.Queues {
		queues = append(queues, member(name, q.Cohort, q.Weight, q.Quota))
	}
	for name, c := range catalog.Cohorts {
		cohorts = append(cohorts, member(name, c.Parent, c.Weight, c.Quota))
	}
	return quota.Compile(queues, cohorts)
}

func member(name, cohort string, weight *policies.Weight, quotas map[string]map[string]policies.Limit) quota.Member {
	m := quota.Member{Name: name, Cohort: cohort, Weight: weight.Millionths(), Limits: map[quota.Pair]quota.Limit{}}
	for flavor, resources := range quotas {
		for name, l := range resources {
			m.Limits[quota.Pair{Flavor: flavor, Resource: name}] = quota.Limit{Nominal: l.Nominal, Borrow: l.BorrowingLimit, Lend: l.LendingLimit}
		}
	}
	return m
}

func (w wantNode) differ(tree *quota.Tree, n quota.NodeID, queue bool) []string {
	wanted := map[string]string{"share": w.Share, "shareExact": w.ShareExact, "dominantResource": w.DominantResource}
	share := tree.Share(n)
	got := map[string]string{"share": shareText(share, 0), "shareExact": shareText(share, 4), "dominantResource": share.Resource}
	for _, q := range w.Quotas {
		at := q.Flavor + "/" + q.Resource + " "
		pair := tree.Pair(q.Flavor, q.Resource)
		wanted[at+"usage"], got[at+"usage"] = q.Usage, text(tree.Usage(n, pair))
		wanted[at+"available"], got[at+"available"] = q.Available, text(max(0, tree.Available(n, pair)))
		wanted[at+"potentialAvailable"], got[at+"potentialAvailable"] = q.PotentialAvailable, text(tree.Potential(n, pair))
		if queue {
			wanted[at+"borrowed"], got[at+"borrowed"] = q.Borrowed, text(tree.Borrowed(n, pair))
		} else {
			wanted[at+"subtreeQuota"], got[at+"subtreeQuota"] = q.SubtreeQuota, text(tree.Subtree(n, pair))
		}
	}
	return differ(w.Name, wanted, got)
}

func text(n int64) string {
	if n == resource.Limit {
		return "unlimited"
	}
	return strconv.FormatInt(n, 10)
}

// shareText is a share with so many decimals; rounded up without any.
func shareText(s quota.Share, decimals int) string {
	switch {
	case s.Infinite():
		return "infinite"
	case decimals == 0:
		return strconv.FormatFloat(math.Ceil(s.Value()), 'f', 0, 64)
	}
	return strconv.FormatFloat(s.Value(), 'f', decimals, 64)
}
