package ledger

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/ledger/estimate"
)

// startsOf is when the first of a queue start, as it is published: what was said
// before stands, unless it has become another answer. Moments shift a little with
// every estimate, and each would be a write.
func (l *Loop) startsOf(queue string, before []v1alpha1.QueueStart, now time.Time) []v1alpha1.QueueStart {
	said := make(map[types.UID]v1alpha1.QueueStart, len(before))
	for _, s := range before {
		said[s.UID] = s
	}
	var list []v1alpha1.QueueStart
	for _, s := range l.starts.told[queue] {
		if !l.waits(s.UID) {
			continue
		}
		start := queueStart(s, now)
		if old, known := said[start.UID]; known && sameStart(old, start, now) {
			start = old
		}
		list = append(list, start)
	}
	return list
}

func queueStart(s estimate.Start, now time.Time) v1alpha1.QueueStart {
	q := v1alpha1.QueueStart{UID: types.UID(s.UID), Unknown: s.Unknown}
	if earliest := time.Unix(0, s.Earliest); s.Earliest > 0 && earliest.Sub(now) > startsShift {
		q.Earliest = &metav1.Time{Time: earliest.Truncate(time.Second).UTC()}
	}
	if s.Latest > 0 {
		q.Latest = &metav1.Time{Time: time.Unix(0, s.Latest+int64(time.Second)-1).Truncate(time.Second).UTC()}
	}
	if q.Earliest != nil || q.Latest != nil {
		q.Ground = groundOf(s)
	}
	return q
}

// groundOf is what an estimate is told from.
func groundOf(s estimate.Start) string {
	var grounds []string
	if s.Limits {
		grounds = append(grounds, "run limits")
	}
	if s.Runs > 0 {
		grounds = append(grounds, fmt.Sprintf("%d past runs", s.Runs))
	}
	return strings.Join(grounds, " and ")
}

// sameStart tells whether what was said still says about the same. How many past
// runs it is told from is no news.
func sameStart(old, now v1alpha1.QueueStart, at time.Time) bool {
	return old.Unknown == now.Unknown && (old.Ground == "") == (now.Ground == "") && near(old.Earliest, now.Earliest, at) && near(old.Latest, now.Latest, at)
}

func near(old, now *metav1.Time, at time.Time) bool {
	if old == nil || now == nil {
		return old == now
	}
	return old.Sub(now.Time).Abs() <= max(startsShift, now.Sub(at)/startsPart)
}
