package policies

// What a queue gets when it doesn't say.
const (
	DefaultPlacementTimeoutSeconds = 120
	DefaultPodsReadyTimeoutSeconds = 1800
	DefaultBackoffBaseSeconds      = 60
	DefaultBackoffMaxSeconds       = 3600
)

// PlacementTimeout is the queue's placement timeout in seconds.
func (q Queue) PlacementTimeout() int64 {
	return orDefault(q.PlacementTimeoutSeconds, DefaultPlacementTimeoutSeconds)
}

// PodsReadyTimeout is the queue's ready timeout in seconds.
func (q Queue) PodsReadyTimeout() int64 {
	return orDefault(q.PodsReadyTimeoutSeconds, DefaultPodsReadyTimeoutSeconds)
}

// StrategyOrDefault is the queue's strategy, BestEffortFIFO if it names none.
func (q Queue) StrategyOrDefault() Strategy {
	if q.Strategy == "" {
		return BestEffortFIFO
	}
	return q.Strategy
}

// Delay is how many seconds to wait before the next attempt after the given
// number of failed ones (1 is the first): base, doubled each time, at most max.
func (b Backoff) Delay(failed int64) int64 {
	delay, most := orDefault(b.BaseSeconds, DefaultBackoffBaseSeconds), b.Max()
	for ; failed > 1 && delay < most; failed-- {
		delay = min(most, delay) * 2
	}
	return min(delay, most)
}

// Max is the longest delay in seconds; never below an explicit base.
func (b Backoff) Max() int64 {
	return max(orDefault(b.MaxSeconds, DefaultBackoffMaxSeconds), b.BaseSeconds)
}

// VerifyOrDefault is the flavor's Verify, VerifyNodes if it names none.
func (f Flavor) VerifyOrDefault() Verify {
	if f.Verify == "" {
		return VerifyNodes
	}
	return f.Verify
}

// UnreservedOrDefault is Unreserved, UnreservedCharge if the policy is silent.
func (c *Catalog) UnreservedOrDefault() Unreserved {
	if c.Unreserved == "" {
		return UnreservedCharge
	}
	return c.Unreserved
}

func orDefault(value, standard int64) int64 {
	if value == 0 {
		return standard
	}
	return value
}
