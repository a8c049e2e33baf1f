package nsquota

import (
	"slices"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/resource"
)

// Quota is one ResourceQuota, as far as it limits pods. Immutable once made.
type Quota struct {
	Namespace, Name string
	Scopes          []Scope // all of which a pod must be in
	Rows            []Row   // sorted by name
}

// Scope is pods of one kind.
type Scope struct {
	Name     string // as in corev1.ResourceQuotaScope
	Operator string // of PriorityClass: In, NotIn, Exists, DoesNotExist
	Values   []string
}

// Row is one amount that is limited.
type Row struct {
	Name string // as the quota has it
	Of   Of
	// Resource that is counted, of requests and limits, by our name for it.
	Resource string
	Hard     int64
	Used     int64 // as the API server last said; Unknown: it did not say yet
	// Classes of devices of which what claims ask for counts, too.
	Classes []string
	// Drawn are resources that count as far as a node gives them to containers out of
	// devices: the scheduler makes a claim for the pod then.
	Drawn []string
	// Needs is the amount that every container must give where this is limited; 0: none.
	Needs demand.Amount
}

// Of is what a row counts.
type Of uint8

// What rows count.
const (
	Requests Of = iota
	Limits
	Pods    // that are not over
	Objects // pods, be they over or not
	Claims  // that are made for pods
	Devices // of Classes, and what is Drawn, alone
)

// Pod is what rows look at in a pod.
type Pod struct {
	Requests, Limits resource.List
	Terms            demand.Terms
	// Draws tells whether it gets what its containers ask for of a resource out of
	// devices, or might.
	Draws func(resource string) bool
}

// Unknown is what is used before the API server has counted it: it lets no pod in until then.
const Unknown = int64(-1)

// Covers tells whether pods with these terms count.
func (q *Quota) Covers(t demand.Terms) bool {
	return !slices.ContainsFunc(q.Scopes, func(s Scope) bool { return !s.has(t) })
}

func (s *Scope) has(t demand.Terms) bool {
	switch s.Name {
	case "Terminating":
		return t.Terminating
	case "NotTerminating":
		return !t.Terminating
	case "BestEffort":
		return !t.Compute
	case "NotBestEffort":
		return t.Compute
	case "CrossNamespacePodAffinity":
		return t.CrossNamespace
	case "PriorityClass":
		return s.selects(t.PriorityClass)
	}
	return false // a scope of volumes, or one that is not known: of no pods
}

func (s *Scope) selects(class string) bool {
	named := class != ""
	switch s.Operator {
	case "Exists", "":
		return named
	case "DoesNotExist":
		return !named
	case "In":
		return named && slices.Contains(s.Values, class)
	case "NotIn":
		return !named || !slices.Contains(s.Values, class)
	}
	return false
}

// Takes is what one pod takes of a row.
func (r *Row) Takes(p *Pod) int64 {
	n := int64(0)
	switch r.Of {
	case Requests:
		n = p.Requests[r.Resource]
	case Limits:
		n = p.Limits[r.Resource]
	case Pods, Objects:
		return 1
	case Claims:
		n = p.Terms.Claims.Objects()
		if drawn, _ := r.Draws(p); drawn > 0 {
			n++ // one for all of them
		}
		return n
	}
	drawn, _ := r.Draws(p)
	for _, class := range r.Classes {
		n = resource.Add(n, p.Terms.Claims.Devices(class))
	}
	return resource.Add(n, drawn)
}

// Draws is what counts only because a pod may get it out of devices, and of which resource.
func (r *Row) Draws(p *Pod) (amount int64, of string) {
	for _, name := range r.Drawn {
		if n := p.Limits[name]; n > 0 && p.Draws(name) {
			amount, of = resource.Add(amount, n), name
		}
	}
	return amount, of
}
