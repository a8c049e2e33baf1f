package demand

import "github.com/holdshort/holdshort/policies"

// Tolerates tells whether one of the tolerations covers the taint, by the rules
// of the scheduler: an empty effect covers all effects, an empty key with
// Exists covers all taints, an empty operator means Equal. The numeric
// operators (Lt, Gt) cover nothing, as on a server where they are off.
func Tolerates(tolerations []policies.Toleration, taint policies.Taint) bool {
	for _, t := range tolerations {
		if tolerates(t, taint) {
			return true
		}
	}
	return false
}

func tolerates(t policies.Toleration, taint policies.Taint) bool {
	if (t.Effect != "" && t.Effect != taint.Effect) || (t.Key != "" && t.Key != taint.Key) {
		return false
	}
	switch t.Operator {
	case "", "Equal":
		return t.Value == taint.Value
	case "Exists":
		return true
	}
	return false
}
