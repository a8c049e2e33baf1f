package reason

import (
	"fmt"
	"strings"
)

// NamespaceLimit is one row of a ResourceQuota, for a message.
type NamespaceLimit struct {
	Name, Row         string // of the ResourceQuota, and as it names what it limits
	Resource          string // the unit
	Asked, Used, Hard int64
	// Drawn is the resource that is asked for of which only devices count; empty: none.
	Drawn string
	// Sure: all nodes that give it where the pods may run do so out of devices. Mixed: some
	// do, and some by a device plugin. Neither: there is none yet.
	Sure, Mixed bool
}

func (l NamespaceLimit) amount(n int64) string { return Amount(l.Resource, n) }

// noted says why it counts what is drawn.
func (l NamespaceLimit) noted(r Reason) Reason {
	switch {
	case l.Drawn == "":
		return r
	case l.Sure:
		return r.With("the scheduler claims devices for " + l.Drawn)
	case !l.Mixed:
		return r.With(l.Drawn + " counts, since no node shows yet that a device plugin gives it, which would not count")
	}
	r = r.With(l.Drawn + " counts, since some nodes on which its pods may run have no device plugin for it, though what others' plugins give would not count")
	end := ". " + advice
	if strings.Contains(r.Message, end) {
		end = ", or "
	}
	r.Message += end + "a nodeSelector for nodes with the plugin, or a flavor for each kind"
	return r
}

// Steady is a message about a ResourceQuota without how much of it is used, which moves all
// the time. The rest of it is to be told anew when it is another one.
func Steady(message string) string {
	before, used, found := strings.Cut(message, " asked, ")
	_, after, _ := strings.Cut(used, " of ")
	if !found {
		return message
	}
	return before + after
}

// UsedNow is a message about a row of a ResourceQuota with how much of it is used by a later
// message to another Job of the namespace; empty if that one is about something else.
func UsedNow(message, later string) string {
	about, use, note := useOf(message)
	other, now, _ := useOf(later)
	if about == "" || row(about) != row(other) {
		return ""
	}
	if use == now {
		return message
	}
	return about + " asked, " + now + " used" + note
}

// useOf parts what NoNamespaceQuota made: what is asked of which row, the use of it, and what
// comes after that.
func useOf(message string) (about, use, note string) {
	about, rest, found := strings.Cut(message, " asked, ")
	use, note, used := strings.Cut(rest, " used")
	if !found || !used || !strings.HasPrefix(about, "ResourceQuota ") {
		return "", "", ""
	}
	return about, use, note
}

// row is a ResourceQuota and its row, without how much is asked.
func row(about string) string {
	quota, asked, _ := strings.Cut(about, ": ")
	_, name, _ := strings.Cut(asked, " ")
	return quota + " " + name
}

// NoNamespaceQuota is that a ResourceQuota has too little left for all pods of a Job.
func NoNamespaceQuota(l NamespaceLimit) Reason {
	return l.noted(Reason{Code: WaitingForNamespaceQuota, Message: fmt.Sprintf("ResourceQuota %s of its namespace: %s %s asked, %s of %s used",
		l.Name, l.amount(l.Asked), l.Row, l.amount(l.Used), l.amount(l.Hard))})
}

// BeyondNamespaceQuota is that it allows less than the Job asks for, whatever is used.
func BeyondNamespaceQuota(l NamespaceLimit) Reason {
	return l.noted(Reason{Code: NeverFits, Message: fmt.Sprintf("%s %s asked; ResourceQuota %s of its namespace allows %s in all. Try: ask for less, or have it raised",
		l.amount(l.Asked), l.Row, l.Name, l.amount(l.Hard))})
}

// NamespaceQuotaUncounted is that the API server lets nothing in before it has counted.
func NamespaceQuotaUncounted(l NamespaceLimit) Reason {
	return Reason{Code: WaitingForNamespaceQuota, Message: fmt.Sprintf("ResourceQuota %s of its namespace is new: the API server has not counted yet how much %s is used", l.Name, l.Row)}
}

// NamespaceQuotaUnset is that a container says nothing of what is limited.
func NamespaceQuotaUnset(quota, row string) Reason {
	return Reason{Code: BadRequest, Message: fmt.Sprintf("ResourceQuota %s of its namespace limits %s, so the API server refuses pods of which a container does not say how much it takes. "+
		"Try: set it in every container, or have a LimitRange set a default", quota, row)}
}
