package scenario

import (
	"cmp"

	"github.com/holdshort/holdshort/ledger/sim"
)

// machineAfter is how long an autoscaler takes of which the file does not say it.
const machineAfter = "3m"

// autoscaler checks how machines of elastic flavors come.
func (r *reader) autoscaler(s *script) {
	r.moment(s.Autoscaler.After, "autoscaler", "after")
}

// autoscaler adds machines as the file says.
func (s *script) autoscaler() *sim.Autoscaler {
	after := s.moment(cmp.Or(s.Autoscaler.After, machineAfter)) - s.starts
	return &sim.Autoscaler{After: after, Empty: s.Autoscaler.Empty}
}
