package policies

// CatalogInput is the document that the catalog may read as input; everybody
// sees the same catalog, so it has nothing of a workload in it.
type CatalogInput struct {
	// NowNS is the beginning of the current minute.
	NowNS int64 `json:"now_ns"`
	// Capacity moves only when machines have come or gone for good, see
	// Totals.
	Capacity CatalogCapacity `json:"capacity"`
}

// CatalogCapacity is flavor → resource → totals over the flavor's nodes. Every
// resource that the policy names is there for every flavor, 0 where no node has
// it.
type CatalogCapacity map[string]map[string]Totals

// Totals are what the nodes of a flavor have of one resource. They are damped:
// each is as it has been for a while, so that a machine that comes and goes does
// not take the quotas with it.
type Totals struct {
	// Allocatable on nodes that are ready and open.
	Allocatable int64 `json:"allocatable"`
	// Unhealthy is what is built in and can't be given out: on nodes that are
	// down or closed, and devices out of order.
	Unhealthy int64 `json:"unhealthy"`
	// Held by pods, terminating ones included.
	Held int64 `json:"held"`
}
