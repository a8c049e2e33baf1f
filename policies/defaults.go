package policies

// What a queue gets when it doesn't say.
const (
	placementSeconds  = 120
	podsReadySeconds  = 1800
	elasticSeconds    = 900
	backoffSeconds    = 60
	backoffMaxSeconds = 3600
)

// PlacementTimeout is the queue's placement timeout in seconds.
func (q Queue) PlacementTimeout() int64 {
	return orDefault(q.PlacementTimeoutSeconds, placementSeconds)
}

// Timeout is how long the autoscaler may take, in seconds.
func (e Elastic) Timeout() int64 {
	return orDefault(e.TimeoutSeconds, elasticSeconds)
}

// PodsReadyTimeout is the queue's ready timeout in seconds.
func (q Queue) PodsReadyTimeout() int64 {
	return orDefault(q.PodsReadyTimeoutSeconds, podsReadySeconds)
}

// Delay is how many seconds to wait before the next attempt after the given
// number of failed ones (1 is the first): base, doubled each time, at most max.
func (b Backoff) Delay(failed int64) int64 {
	delay, most := orDefault(b.BaseSeconds, backoffSeconds), b.Longest()
	for ; failed > 1 && delay < most; failed-- {
		delay = min(most, delay) * 2
	}
	return min(delay, most)
}

// GivesUp tells whether a workload that failed so often is not tried again.
func (b Backoff) GivesUp(failed int64) bool { return b.LimitCount != nil && failed > *b.LimitCount }

// Longest is the longest delay in seconds; never below an explicit base.
func (b Backoff) Longest() int64 {
	return max(orDefault(b.MaxSeconds, backoffMaxSeconds), b.BaseSeconds)
}

func orDefault(value, standard int64) int64 {
	if value == 0 {
		return standard
	}
	return value
}
