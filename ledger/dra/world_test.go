package dra

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	amounts "github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/supply"
)

// world is what a State was told, kept as objects, so that everything can be counted
// anew from nothing, by the allocator and no shortcut.
type world struct {
	nodes   map[string]map[string]string
	slices  map[string]*resourceapi.ResourceSlice
	claims  map[types.UID]*resourceapi.ResourceClaim
	classes classes
	rules   map[string]*resourceapi.DeviceTaintRule
	wants   map[string][]resourceapi.ResourceClaimSpec
}

func newWorld() *world {
	return &world{
		nodes: map[string]map[string]string{}, slices: map[string]*resourceapi.ResourceSlice{},
		claims: map[types.UID]*resourceapi.ResourceClaim{}, classes: classes{},
		rules: map[string]*resourceapi.DeviceTaintRule{}, wants: map[string][]resourceapi.ResourceClaimSpec{},
	}
}

const worldNodes = 3

func drawName(t *rapid.T, prefix string, n int) string {
	return fmt.Sprintf("%s-%d", prefix, rapid.IntRange(0, n-1).Draw(t, prefix))
}

// step draws one event and tells it to the state and the world.
func (w *world) step(t *rapid.T, s *State) {
	switch rapid.SampledFrom([]string{"slice", "slice", "slice", "claim", "claim", "claim", "no slice", "no claim", "class", "no class", "rule", "no rule", "node", "no node"}).Draw(t, "event") {
	case "slice":
		l := drawSlice(t, rapid.IntRange(0, 7).Draw(t, "slice"))
		w.slices[l.Name] = l
		s.SetSlice(l)
	case "no slice":
		name := drawName(t, "slice", 8)
		delete(w.slices, name)
		s.DeleteSlice(name)
	case "claim":
		c := drawClaim(t)
		w.claims[c.UID] = c
		s.SetClaim(c)
	case "no claim":
		uid := types.UID(drawName(t, "claim", 6))
		delete(w.claims, uid)
		s.DeleteClaim(uid)
	case "class":
		c := drawClass(t)
		w.classes[c.Name] = c
		s.SetClass(c)
	case "no class":
		delete(w.classes, "loose")
		s.DeleteClass("loose")
	case "rule":
		r := drawRule(t)
		w.rules[r.Name] = r
		s.SetTaintRule(r)
	case "no rule":
		name := drawName(t, "rule", 2)
		delete(w.rules, name)
		s.DeleteTaintRule(name)
	case "node":
		name := drawName(t, "node", worldNodes)
		w.nodes[name] = map[string]string{"rack": drawName(t, "rack", 2)}
		s.SetNode(name, w.nodes[name])
	case "no node":
		name := drawName(t, "node", worldNodes)
		delete(w.nodes, name)
		s.DeleteNode(name)
	}
}

// drawSlice: slices 0 and 1 offer counters for the pools of nodes 0 and 1; the others
// have devices. Pools are of one node, but for pool-3 of two, and sometimes of none.
func drawSlice(t *rapid.T, i int) *resourceapi.ResourceSlice {
	name, node := fmt.Sprintf("slice-%d", i), fmt.Sprintf("node-%d", i%worldNodes)
	pool := fmt.Sprintf("pool-%d", i%worldNodes)
	if i == 6 || i == 7 {
		pool = "pool-3"
	}
	generation := rapid.SampledFrom([]int64{1, 1, 1, 1, 2}).Draw(t, "generation")
	count := rapid.SampledFrom([]int64{2, 2, 2, 2, 2, 2, 1, 3}).Draw(t, "count")
	if i == 2 || i == 5 { // node-2 has a slice more
		generation, count = 1, 2
	}
	if i < 2 && rapid.Bool().Draw(t, "counters") {
		return counters(name, node, pool, generation, count, map[string]int64{"card-0": 40, "card-1": 40}, "card-0", "card-1")
	}
	l := sliceOf(name, node, pool, generation, count)
	if rapid.IntRange(0, 99).Draw(t, "of no node") == 77 {
		yes := true
		l.Spec.NodeName, l.Spec.AllNodes = nil, &yes
	}
	for j := range rapid.IntRange(0, 4).Draw(t, "devices") {
		l.Spec.Devices = append(l.Spec.Devices, drawDevice(t, i, j))
	}
	return l
}

func drawDevice(t *rapid.T, i, j int) resourceapi.Device {
	kind := rapid.SampledFrom([]string{"gpu", "gpu", "gpu", "mig", "mig"}).Draw(t, "kind")
	name := fmt.Sprintf("dev-%d-%d", i, j)
	if rapid.IntRange(0, 99).Draw(t, "name twice") == 77 {
		name = "dev-0-0"
	}
	d := card(name, kind)
	d.Attributes["model"] = text(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "model"))
	if rapid.Bool().Draw(t, "odd") {
		d.Attributes["odd"] = text(name)
	}
	switch rapid.IntRange(0, 30).Draw(t, "peculiarity") {
	case 21:
		delete(d.Attributes, "type")
	case 11, 12:
		d.Taints = []resourceapi.DeviceTaint{{Key: "sick", Effect: rapid.SampledFrom([]resourceapi.DeviceTaintEffect{"NoSchedule", "NoExecute", "None"}).Draw(t, "effect")}}
	case 7, 17:
		d.BindingConditions = []string{"attached"}
	case 13:
		yes := true
		d.AllowMultipleAllocations = &yes
		d.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("4")}}
	case 1, 2, 3, 4, 5, 6:
		if i%worldNodes < 2 && i < 6 {
			set := drawName(t, "card", 2)
			d.ConsumesCounters = cut(name, kind, set, rapid.SampledFrom([]int64{10, 20, 40}).Draw(t, "memory")).ConsumesCounters
		}
	}
	return d
}

func drawClaim(t *rapid.T) *resourceapi.ResourceClaim {
	uid := drawName(t, "claim", 6)
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid)}}
	if rapid.IntRange(0, 3).Draw(t, "allocated") == 0 {
		return c
	}
	c.Status.Allocation = &resourceapi.AllocationResult{}
	for n := range rapid.IntRange(0, 3).Draw(t, "results") {
		i := rapid.IntRange(2, 7).Draw(t, "of slice")
		pool := fmt.Sprintf("pool-%d", i%worldNodes)
		if i > 5 {
			pool = "pool-3"
		}
		result := resourceapi.DeviceRequestAllocationResult{
			Driver: driver, Pool: pool, Device: fmt.Sprintf("dev-%d-%d", i, rapid.IntRange(0, 3).Draw(t, "device")),
		}
		switch rapid.IntRange(0, 5).Draw(t, "kind of result") {
		case 0:
			yes := true
			result.AdminAccess = &yes
		case 1:
			share := types.UID(fmt.Sprintf("%s-%d", uid, n))
			result.ShareID = &share
			result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("1")}
		}
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, result)
	}
	return c
}

func drawClass(t *rapid.T) *resourceapi.DeviceClass {
	return rapid.SampledFrom([]*resourceapi.DeviceClass{
		class("loose", `device.attributes["gpu.example.com"].type == "gpu"`),
		class("loose", `device.driver == "gpu.example.com"`),
		class("loose", ""),
	}).Draw(t, "class")
}

func drawRule(t *rapid.T) *resourceapi.DeviceTaintRule {
	r := &resourceapi.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: drawName(t, "rule", 2)}}
	r.Spec.Taint = resourceapi.DeviceTaint{Key: "sick", Effect: rapid.SampledFrom([]resourceapi.DeviceTaintEffect{"NoSchedule", "None"}).Draw(t, "effect")}
	if rapid.Bool().Draw(t, "selects") {
		pool, name := drawName(t, "pool", 4), fmt.Sprintf("dev-%d-%d", rapid.IntRange(0, 7).Draw(t, "i"), rapid.IntRange(0, 3).Draw(t, "j"))
		r.Spec.DeviceSelector = &resourceapi.DeviceTaintSelector{Pool: &pool, Device: &name}
	}
	return r
}

// asks are what pods may ask for: each way that claims have to say something.
func asks() [][]resourceapi.ResourceClaimSpec {
	model := resourceapi.FullyQualifiedName("gpu.example.com/model")
	alike := claimOf(exactly("gpu", 1), named("b", exactly("mig", 1)))
	alike.Devices.Constraints = []resourceapi.DeviceConstraint{{MatchAttribute: &model}}
	unlike := claimOf(exactly("gpu", 2))
	unlike.Devices.Constraints = []resourceapi.DeviceConstraint{{DistinctAttribute: &model}}
	tolerant := exactly("gpu", 1)
	tolerant.Exactly.Tolerations = []resourceapi.DeviceToleration{{Key: "sick", Operator: resourceapi.DeviceTolerationOpExists}}
	sized := exactly("gpu", 1)
	sized.Exactly.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("2")}}
	one := func(requests ...resourceapi.DeviceRequest) []resourceapi.ResourceClaimSpec {
		return []resourceapi.ResourceClaimSpec{claimOf(requests...)}
	}
	return [][]resourceapi.ResourceClaimSpec{
		one(exactly("gpu", 1)), one(exactly("gpu", 2)), one(exactly("mig", 1)), one(exactly("loose", 1)), one(tolerant), one(sized),
		one(all("gpu")), one(all("loose")), one(admin(exactly("gpu", 1))), one(admin(all("mig"))),
		one(firstOf(sub("big", "gpu", 2), sub("small", "mig", 1))),
		one(exactly("gpu", 1), named("b", exactly("gpu", 1))), {alike}, {unlike},
		{claimOf(exactly("gpu", 1)), claimOf(exactly("mig", 1))},
		one(selecting(exactly("gpu", 1), `device.attributes["gpu.example.com"].model == "a"`)),
		one(selecting(exactly("loose", 1), `device.attributes["gpu.example.com"].model == "b"`)),
		one(selecting(exactly("gpu", 1), `has(device.attributes["gpu.example.com"].odd) || device.attributes["gpu.example.com"]["model"] == "b"`)),
		one(selecting(exactly("gpu", 1), `cel.bind(mine, device.attributes["gpu.example.com"], mine.model == "a" && !has(mine.odd))`)),
		one(selecting(exactly("gpu", 1), `device.attributes["gpu.example.com"].exists(key, key == "odd")`)),
		one(selecting(exactly("gpu", 1), `device.allowMultipleAllocations && device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("2"))`)),
	}
}

// doubtful tells whether any pool gives to several nodes from the same things.
func (w *world) doubtful() bool {
	owner, nodes, offers := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(w.slices)) {
		l := w.slices[name]
		if l.Spec.NodeName == nil {
			return true
		}
		pool := l.Spec.Pool.Name
		for _, d := range l.Spec.Devices {
			key := pool + "/" + d.Name
			if other := owner[key]; other != "" && other != *l.Spec.NodeName {
				return true
			}
			owner[key] = *l.Spec.NodeName
		}
		if other := nodes[pool]; other != "" && other != *l.Spec.NodeName {
			offers[pool+" of several"] = true
		}
		nodes[pool] = *l.Spec.NodeName
		offers[pool] = offers[pool] || len(l.Spec.SharedCounters) > 0
		if offers[pool] && offers[pool+" of several"] {
			return true
		}
	}
	return false
}

// unknown is a total that can't be counted: it equals all.
const unknown = -1

// site is a node with all slices that there are, tainted by all rules.
func (w *world) site(node string, inUse bool) site {
	at := site{node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: w.nodes[node]}}, state: nothingInUse()}
	for _, name := range slices.Sorted(maps.Keys(w.slices)) {
		l := w.slices[name].DeepCopy()
		for i := range l.Spec.Devices {
			for _, r := range w.rules {
				if sel := r.Spec.DeviceSelector; sel != nil && *sel.Pool == l.Spec.Pool.Name && *sel.Device == l.Spec.Devices[i].Name {
					l.Spec.Devices[i].Taints = append(l.Spec.Devices[i].Taints, r.Spec.Taint)
				}
			}
		}
		at.slices = append(at.slices, l)
	}
	for _, c := range w.claims {
		if inUse && c.Status.Allocation != nil {
			take(&at.state, []resourceapi.AllocationResult{*c.Status.Allocation})
		}
	}
	return at
}

// rows counted from nothing. A set's claim is asked for one device at a time.
func (w *world) rows() map[string]map[string]supply.Stock {
	a := allocator{expressions: newExpressions(), classes: w.classes}
	rows := map[string]map[string]supply.Stock{}
	for node := range w.nodes {
		rows[node] = map[string]supply.Stock{}
	}
	for name, specs := range w.wants {
		if strings.HasPrefix(name, amounts.DeviceSet) {
			specs = []resourceapi.ResourceClaimSpec{*specs[0].DeepCopy()}
			specs[0].Devices.Requests[0].Exactly.Count = 1
		}
		failed := false
		for node := range w.nodes {
			total, uncounted := a.slots(w.site(node, false), claimsFor(specs), most)
			free, err := a.slots(w.site(node, true), claimsFor(specs), most)
			failed = failed || err != nil
			rows[node][name] = supply.Stock{Total: max(total, free), Free: free}
			if uncounted != nil { // how far it came before it failed is nobody's concern
				rows[node][name] = supply.Stock{Total: unknown, Free: free}
			}
		}
		for node := range w.nodes {
			stock := rows[node][name]
			if failed {
				stock.Free = 0
			}
			rows[node][name] = stock
			if stock == (supply.Stock{}) {
				delete(rows[node], name)
			}
		}
	}
	return rows
}
