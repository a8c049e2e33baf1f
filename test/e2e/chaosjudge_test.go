//go:build plane

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/stories"
)

// chaosJudge looks at all Jobs and pods all the time.
type chaosJudge struct {
	*chaos
	stop, stopped chan struct{}

	mu    sync.Mutex
	since time.Time               // when nobody interferes any more; zero while somebody does
	mute  map[types.UID]time.Time // since when one that waits has not said why
	said  map[types.UID]bool      // of whom something was said
	saw   map[types.UID]string    // of each Job, last
}

// What has to happen within so long, on a machine that others use, too.
const (
	muteMax     = 6 * time.Second
	homelessMax = 4 * time.Second
	overWithin  = time.Minute
)

func watchChaos(c *chaos) *chaosJudge {
	j := &chaosJudge{
		chaos: c, stop: make(chan struct{}), stopped: make(chan struct{}),
		mute: map[types.UID]time.Time{}, said: map[types.UID]bool{}, saw: map[types.UID]string{},
	}
	go func() {
		defer close(j.stopped)
		for {
			select {
			case <-j.stop:
				return
			case <-j.ctx.Done():
				return
			case <-time.After(300 * time.Millisecond):
				j.look()
			}
		}
	}()
	return j
}

func (j *chaosJudge) disturbed() { j.setSince(time.Time{}) }

func (j *chaosJudge) quiet() {
	j.say("--- quiet")
	j.setSince(time.Now())
}

func (j *chaosJudge) setSince(at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.since = at
}

func (j *chaosJudge) look() {
	jobs, err := j.Client.BatchV1().Jobs(j.NS).List(j.ctx, metav1.ListOptions{})
	if err != nil {
		return // the next time
	}
	pods, err := j.Client.CoreV1().Pods(j.NS).List(j.ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel})
	if err != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	byName := map[string]*batchv1.Job{}
	for i := range jobs.Items {
		one := &jobs.Items[i]
		byName[one.Name] = one
		j.job(one)
	}
	for i := range pods.Items {
		j.pod(&pods.Items[i], byName[pods.Items[i].Labels[batchv1.JobNameLabel]])
	}
}

func (j *chaosJudge) job(one *batchv1.Job) {
	message, waits := one.Annotations[policies.AnnotationMessage], *one.Spec.Suspend && !ended(one)
	if now := fmt.Sprintf("suspended %v, over %v: %s", *one.Spec.Suspend, ended(one), message); j.saw[one.UID] != now {
		j.saw[one.UID] = now
		j.say("      %s %.200s", one.Name, now)
	}
	if !waits || message != "" {
		delete(j.mute, one.UID)
		return
	}
	if at, known := j.mute[one.UID]; !known {
		j.mute[one.UID] = time.Now()
	} else if time.Since(at) > muteMax {
		j.blame(one.UID, "%s waits, and has not said why for %v: %v %+v", one.Name, muteMax, one.Annotations, one.Status)
	}
}

// blame says something once of a Job or pod.
func (j *chaosJudge) blame(uid types.UID, format string, args ...any) {
	if j.said[uid] {
		return
	}
	j.said[uid] = true
	j.t.Errorf("%6.2f %s\n%s%s", time.Since(j.began).Seconds(), fmt.Sprintf(format, args...),
		j.operate("", "get", "-n", j.NS, "pods,resourceclaims,resourcequota", "-o", "wide"), j.operate("", "get", "nodes,resourceslices,devicetaintrules"))
}

// pod judges what a node refuses, which is what was given twice, and pods that find no node
// though nobody came after their Job was let go.
func (j *chaosJudge) pod(p *corev1.Pod, of *batchv1.Job) {
	if strings.HasPrefix(p.Status.Reason, "OutOf") || p.Status.Reason == "UnexpectedAdmissionError" {
		j.blame(p.UID, "%s: %s: %s", p.Name, p.Status.Reason, p.Status.Message)
	}
	why, homeless := unbindable(p)
	if !homeless || p.DeletionTimestamp != nil || of == nil || *of.Spec.Suspend || j.since.IsZero() || time.Since(p.CreationTimestamp.Time) < homelessMax+time.Second {
		return
	}
	if r, err := stories.Reservation(of); err == nil && time.Unix(0, r.Time).After(j.since) {
		j.blame(p.UID, "%s was let go when nobody interfered, and its pod %s finds no node for %v: %s; %v", of.Name, p.Name, homelessMax, why, of.Annotations)
	}
}

func unbindable(p *corev1.Pod) (why string, is bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message, true
		}
	}
	return "", false
}

func ended(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// end waits until all Jobs are over: with nobody in the way, there is room for each.
func (j *chaosJudge) end() {
	err := stories.Eventually(j.ctx, overWithin, "all Jobs are over", func(ctx context.Context) (bool, string) {
		list, err := j.Client.BatchV1().Jobs(j.NS).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		var left []string
		for i := range list.Items {
			if one := &list.Items[i]; !ended(one) {
				text, _ := json.Marshal(one.Annotations)
				left = append(left, fmt.Sprintf("%s, suspended %v: %s", one.Name, *one.Spec.Suspend, text))
			}
		}
		return len(left) == 0, fmt.Sprintf("%d of %d are not: %s", len(left), j.jobs, strings.Join(left, "\n"))
	})
	close(j.stop)
	<-j.stopped
	if err != nil {
		j.blame("end", "%v", err)
	}
	j.say("the end, after %d Jobs", j.jobs)
}
