package reason

import "fmt"

// Stranger is a pod that nobody queued and that took room which a Job was to have.
type Stranger struct {
	Pod   string // namespace/name
	Node  string
	Holds []Part // of what the Job asks for; without an amount, things that a node has once
}

// strangersMax is how many of them a message names.
const strangersMax = 3

// room says who took it, for the end of a sentence; nothing if nobody did.
func room(took []Stranger) string {
	if len(took) == 0 {
		return ""
	}
	named := took[:min(len(took), strangersMax)]
	var who []string
	for _, s := range named {
		who = append(who, fmt.Sprintf("%s (%s on %s)", s.Pod, s.holds(), s.Node))
	}
	if rest := len(took) - len(named); rest > 0 {
		who = append(who, counted(int64(rest), "other"))
	}
	return "; its room was taken by pods that nobody queued: " + and(who)
}

func (s Stranger) holds() string {
	var parts []string
	for _, p := range s.Holds {
		if p.Amount == 0 {
			parts = append(parts, p.Resource)
			continue
		}
		parts = append(parts, Amount(p.Resource, p.Amount)+" "+p.Resource)
	}
	if len(parts) == 0 {
		return "room"
	}
	return and(parts)
}
