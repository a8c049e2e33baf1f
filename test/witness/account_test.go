package witness

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdshort/holdshort/test/plane/history"
)

const (
	gpu   = corev1.ResourceName("nvidia.com/gpu")
	label = "queue"
)

// tale tells an account what happened, second by second.
type tale struct {
	*Account
	at time.Duration
}

func begin(quota int64) *tale {
	return &tale{Account: NewAccount(Load{
		Namespace: "load", Resource: gpu, Patience: 5 * time.Second, Label: label, Quota: map[string]int64{"q": quota},
	})}
}

func (t *tale) wait(seconds int) { t.at += time.Duration(seconds) * time.Second }

func (t *tale) machine(name string, gpus int64, closed bool) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Spec.Unschedulable = closed
	n.Status.Allocatable = corev1.ResourceList{gpu: *resource.NewQuantity(gpus, resource.DecimalSI)}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	t.Event(history.Event{Node: n}, t.at)
}

func asks(gpus int64) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{gpu: *resource.NewQuantity(gpus, resource.DecimalSI)},
	}}}}
}

func (t *tale) says(name string, pods int32, gpus int64, suspended bool, is batchv1.JobConditionType) {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "load", Name: name, UID: types.UID(name), Labels: map[string]string{label: "q"}}}
	j.Spec.Completions, j.Spec.Suspend, j.Spec.Template.Spec = &pods, &suspended, asks(gpus)
	if is != "" {
		j.Status.Conditions = []batchv1.JobCondition{{Type: is, Status: corev1.ConditionTrue}}
	}
	t.Event(history.Event{Job: j}, t.at)
}

// runs: a pod of a Job, or of nobody; without a node, nobody can place it.
func (t *tale) runs(name, of, node string, gpus int64, phase corev1.PodPhase) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: name, UID: types.UID(name)}, Spec: asks(gpus)}
	p.Spec.NodeName, p.Status.Phase = node, phase
	if of != "" {
		yes := true
		p.Namespace, p.Labels = "load", map[string]string{label: "q"}
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: of, UID: types.UID(of), Controller: &yes}}
	}
	if node == "" {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}
	t.Event(history.Event{Pod: p}, t.at)
}

func TestWhatAGangHasAndDoesNotUseIsIdle(t *testing.T) {
	for name, podFirst := range map[string]bool{"the Job is seen first": false, "a pod is seen before its Job": true} {
		t.Run(name, func(t *testing.T) {
			s := begin(8)
			s.machine("n", 8, false)
			if podFirst {
				s.runs("a-0", "a", "n", 2, corev1.PodPending)
			}
			s.says("a", 2, 2, true, "")
			s.says("a", 2, 2, false, "")
			s.wait(3) // 4 idle
			s.runs("a-0", "a", "n", 2, corev1.PodRunning)
			s.wait(2) // 2 idle
			s.runs("a-1", "a", "n", 2, corev1.PodRunning)
			s.wait(10)
			s.runs("a-0", "a", "n", 2, corev1.PodSucceeded)
			s.wait(1)
			s.runs("a-1", "a", "n", 2, corev1.PodSucceeded)
			s.says("a", 2, 2, false, batchv1.JobComplete)
			s.wait(5)
			c := s.Counts(s.at)
			if c.Idle != 3*4+2*2 || c.Created != 1 || c.Started != 1 || c.Completed != 1 || c.Makespan() != 16*time.Second || len(c.Broken) > 0 {
				t.Errorf("counted %+v; want 16 idle, one Job that was created, started and completed, and 16 s", c)
			}
			if !s.Over(1) || s.Over(2) {
				t.Error("one Job was all")
			}
			if s.held["q"] != 0 || s.taken["q"] != 0 || s.nodes["n"].held != 0 {
				t.Errorf("at the end %d are held and %d taken, %d of them on the node", s.held["q"], s.taken["q"], s.nodes["n"].held)
			}
		})
	}
}

func TestAPodThatNobodyCanPlaceIsStuckWhenPatienceEnds(t *testing.T) {
	cases := []struct {
		name, of string
		seconds  int
		want     []string
	}{
		{"for a while", "a", 5, nil},
		{"for longer", "a", 6, []string{"load/p"}},
		{"a stranger's", "", 60, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := begin(8)
			s.runs("p", c.of, "", 1, corev1.PodPending)
			s.wait(c.seconds)
			if got := s.Counts(s.at).Stuck; !slices.Equal(got, c.want) {
				t.Errorf("while it waits, stuck are %v; want %v", got, c.want)
			}
			s.runs("p", c.of, "n", 1, corev1.PodRunning)
			s.wait(60)
			if got := s.Counts(s.at).Stuck; !slices.Equal(got, c.want) {
				t.Errorf("stuck were %v; want %v", got, c.want)
			}
		})
	}
}

func TestOveruseIsABrokenPromise(t *testing.T) {
	s := begin(4)
	s.machine("n", 6, false)
	s.runs("stranger", "", "n", 3, corev1.PodRunning)
	s.runs("a-0", "a", "n", 3, corev1.PodRunning)
	if got := s.Counts(s.at).Broken; len(got) > 0 {
		t.Fatalf("3 of 4 and 6 of 6: %v", got)
	}
	s.runs("b-0", "b", "n", 2, corev1.PodPending)
	want := []string{
		"after 0.0 s: the pods of queue q hold 5 of 4 with load/b-0",
		"after 0.0 s: the pods of node n hold 8 of 6 with load/b-0",
	}
	if got := s.Counts(s.at).Broken; !slices.Equal(got, want) {
		t.Errorf("broken are %q; want %q", got, want)
	}
}

func TestSomebodyCouldStart(t *testing.T) {
	cases := []struct {
		name  string
		quota int64
		tell  func(*tale)
		want  bool
	}{
		{"room and quota", 8, func(*tale) {}, true},
		{"no quota", 3, func(*tale) {}, false},
		{"no room: what is free lies apart", 8, func(s *tale) {
			s.runs("s-1", "", "n1", 1, corev1.PodRunning)
			s.runs("s-2", "", "n2", 1, corev1.PodRunning)
		}, false},
		{"a node is closed", 8, func(s *tale) { s.machine("n1", 2, true) }, false},
		{"room may be taken by one who comes", 8, func(s *tale) { s.says("b", 1, 1, false, "") }, false},
		{"who came is elsewhere", 8, func(s *tale) {
			s.machine("n3", 1, false)
			s.says("b", 1, 1, false, "")
			s.runs("b-0", "b", "n3", 1, corev1.PodRunning)
		}, true},
		{"it has started", 8, func(s *tale) { s.says("a", 2, 2, false, "") }, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := begin(c.quota)
			for n := range 2 {
				s.machine(fmt.Sprint("n", n+1), 2, false)
			}
			s.says("a", 2, 2, true, "")
			c.tell(s)
			s.Idles(s.at)
			s.wait(4)
			idles, who := s.Idles(s.at)
			if (who == "a") != c.want || (idles == 4*time.Second) != c.want {
				t.Errorf("for %s %q could have started; want %v", idles, who, c.want)
			}
		})
	}
}

func TestAStartOfAnotherIsAStart(t *testing.T) {
	s := begin(8)
	s.machine("n", 8, false)
	s.says("a", 1, 1, true, "")
	s.says("b", 1, 1, true, "")
	s.Idles(s.at)
	s.wait(4)
	s.says("b", 1, 1, false, "")
	s.wait(1)
	if idles, who := s.Idles(s.at); idles != time.Second || who != "a" {
		t.Errorf("%q idles for %s; want a, for 1 s since b started", who, idles)
	}
}
