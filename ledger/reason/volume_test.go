package reason_test

import (
	"testing"

	"github.com/holdshort/holdshort/ledger/reason"
)

func TestWhereAVolumeIsComesBeforeTheAdvice(t *testing.T) {
	for message, want := range map[string]string{
		"4 asked, 0 free": "4 asked, 0 free; volume claim x is bound to a volume of zone=a",
		reason.NoSuchMachines(reason.Barred{}).Message: "there is no node; volume claim x is bound to a volume of zone=a. It starts by itself if such a node comes",
		"too much. Try: less":                          "too much; volume claim x is bound to a volume of zone=a. Try: less",
	} {
		r := reason.Reason{Code: reason.NeverFits, Message: message}
		if got := r.With(reason.Pinned("volume claim x", "bound to a volume of zone=a")).Message; got != want {
			t.Errorf("said %q, want %q", got, want)
		}
	}
}
