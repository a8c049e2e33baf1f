package reason

import "fmt"

// RequestsDiffer is the event of a Job whose pods ask for more than was booked.
const RequestsDiffer = "RequestsDiffer"

// Differ says of which resources a pod asks for more than was booked, and how to have
// that not be so. Both have the same resources.
func Differ(pod, booked []Part) string {
	named := len(pod) > 1
	verb := "were"
	var asks, had []string
	for i, p := range pod {
		asks = append(asks, Amount(p.Resource, p.Amount)+" "+p.Resource)
		amount := Amount(booked[i].Resource, booked[i].Amount)
		if named {
			had = append(had, amount+" "+booked[i].Resource)
			continue
		}
		if had = append(had, amount); amount == "1" {
			verb = "was"
		}
	}
	return fmt.Sprintf("a pod asks for %s, %s %s booked; its pods are counted by that. "+
		"Try: find what changes pods (a webhook, a policy), or ask for it in the Job", and(asks), and(had), verb)
}
