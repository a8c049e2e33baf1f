package intake

import (
	"cmp"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	amounts "github.com/holdshort/holdshort/ledger/resource"
)

// made counts claims as the API server does for ResourceQuotas: by class, at the most that
// they may get, with those of administrators, and whoever else counts them otherwise.
type made struct {
	objects int64
	devices map[string]int64
}

func (m *made) add(spec *resourceapi.ResourceClaimSpec) {
	m.objects++
	for i := range spec.Devices.Requests {
		request, most := &spec.Devices.Requests[i], map[string]int64{}
		if one := request.Exactly; one != nil {
			most[one.DeviceClassName] = mostOf(one.AllocationMode, one.Count)
		}
		for k := range request.FirstAvailable {
			one := &request.FirstAvailable[k]
			most[one.DeviceClassName] = max(most[one.DeviceClassName], mostOf(one.AllocationMode, one.Count))
		}
		for class, n := range most {
			if m.devices == nil {
				m.devices = map[string]int64{}
			}
			m.devices[class] = amounts.Add(m.devices[class], n)
		}
	}
}

func mostOf(mode resourceapi.DeviceAllocationMode, count int64) int64 {
	switch cmp.Or(mode, resourceapi.DeviceAllocationModeExactCount) {
	case resourceapi.DeviceAllocationModeExactCount:
		return max(count, 0)
	case resourceapi.DeviceAllocationModeAll:
		return resourceapi.AllocationResultsMaxSize
	}
	return 0
}

func (m *made) claims() demand.Claims { return demand.NewClaims(m.objects, m.devices) }
