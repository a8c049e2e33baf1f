package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/test/plane/cluster"
)

// Teller hears a story: the demo prints it, a test logs it.
type Teller interface {
	// Say tells what happens next, or what is to be seen.
	Say(format string, args ...any)
	// Show shows a command and what it printed.
	Show(command, output string)
}

// Scene is one story being told: an environment, a namespace, a user (alice).
type Scene struct {
	*Env
	Teller
	NS string
}

// patience is how long a scene waits for something that must come.
const patience = 30 * time.Second

// Kubectl runs kubectl as alice in the scene's namespace, and shows it.
func (s *Scene) Kubectl(ctx context.Context, args ...string) (string, error) {
	return s.kubectl(ctx, "kubectl -n "+s.NS+" "+strings.Join(args, " "), "", args...)
}

// Explain runs `kubectl holdshort explain` as alice, and shows it.
func (s *Scene) Explain(ctx context.Context, job string) (string, error) {
	out, err := s.Plugin(ctx, cluster.Alice, "explain", "job/"+job, "-n", s.NS)
	s.Show("kubectl holdshort explain -n "+s.NS+" job/"+job, out)
	return out, err
}

// Apply applies manifests as alice.
func (s *Scene) Apply(ctx context.Context, manifests string) (string, error) {
	return s.kubectl(ctx, heredoc("kubectl -n "+s.NS+" apply -f -", manifests), manifests, "apply", "-f", "-")
}

// kubectl returns what was printed, and shows besides what was said on standard
// error: warnings, and that there is nothing to list.
func (s *Scene) kubectl(ctx context.Context, shown, stdin string, args ...string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := s.Command(ctx, cluster.Alice, append([]string{"-n", s.NS}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	s.Show(shown, stderr.String()+stdout.String())
	if err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// heredoc is a command with its input, to be copied as it stands.
func heredoc(command, input string) string {
	return command + " <<'EOF'\n" + strings.TrimSpace(input) + "\nEOF"
}

// documents puts manifests into one file.
func documents(manifests ...string) string { return strings.Join(manifests, "---\n") }

// Job reads a Job.
func (s *Scene) Job(ctx context.Context, name string) (*batchv1.Job, error) {
	return s.Client.BatchV1().Jobs(s.NS).Get(ctx, name, metav1.GetOptions{})
}

// Pods lists the pods of a Job that are not terminal.
func (s *Scene) Pods(ctx context.Context, job string) ([]corev1.Pod, error) {
	list, err := s.Client.CoreV1().Pods(s.NS).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	if err != nil {
		return nil, err
	}
	var live []corev1.Pod
	for _, pod := range list.Items {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			live = append(live, pod)
		}
	}
	return live, nil
}

// Running waits until a Job has n running pods.
func (s *Scene) Running(ctx context.Context, job string, n int) error {
	return s.Eventually(ctx, fmt.Sprintf("%s runs with %d pods", job, n), func(ctx context.Context) (bool, string) {
		pods, err := s.Pods(ctx, job)
		if err != nil {
			return false, err.Error()
		}
		running := 0
		for _, pod := range pods {
			if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				running++
			}
		}
		return running == n, fmt.Sprintf("%d of %d pods run", running, len(pods))
	})
}

// Waits waits until a Job carries the reason code, and checks that it is
// suspended and has no pod object at all.
func (s *Scene) Waits(ctx context.Context, job, code string) error {
	if err := s.Says(ctx, job, code); err != nil {
		return err
	}
	return s.NoPods(ctx, job)
}

// Says waits until a Job carries the reason code.
func (s *Scene) Says(ctx context.Context, job, code string) error {
	return s.Eventually(ctx, job+" waits with "+code, func(ctx context.Context) (bool, string) {
		found, err := s.Job(ctx, job)
		if err != nil {
			return false, err.Error()
		}
		message := found.Annotations["holdshort.dev/message"]
		return strings.HasPrefix(message, code+":"), "its message is " + fmt.Sprintf("%q", message)
	})
}

// NoPods checks that a Job is suspended and has no pod object.
func (s *Scene) NoPods(ctx context.Context, job string) error {
	found, err := s.Job(ctx, job)
	if err != nil {
		return err
	}
	if found.Spec.Suspend == nil || !*found.Spec.Suspend {
		return fmt.Errorf("%s is not suspended", job)
	}
	pods, err := s.Pods(ctx, job)
	if err != nil {
		return err
	}
	if len(pods) > 0 {
		return fmt.Errorf("%s is suspended but has %d pods", job, len(pods))
	}
	return nil
}

// Finished waits until a Job is complete.
func (s *Scene) Finished(ctx context.Context, job string) error {
	return s.Eventually(ctx, job+" completes", func(ctx context.Context) (bool, string) {
		found, err := s.Job(ctx, job)
		if err != nil {
			return false, err.Error()
		}
		for _, c := range found.Status.Conditions {
			if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
				return true, ""
			}
		}
		return false, fmt.Sprintf("active %d, succeeded %d", found.Status.Active, found.Status.Succeeded)
	})
}

// Eventually waits for something that must come; the error says what was seen
// last.
func (s *Scene) Eventually(ctx context.Context, what string, seen func(context.Context) (bool, string)) error {
	return Eventually(ctx, patience, what, seen)
}

// Eventually waits up to a limit for something that must come. That the wait was
// cut short is not told as that it did not come.
func Eventually(whole context.Context, limit time.Duration, what string, seen func(context.Context) (bool, string)) error {
	ctx, cancel := context.WithTimeout(whole, limit)
	defer cancel()
	last := ""
	for {
		ok, now := seen(ctx)
		if ok {
			return nil
		}
		if ctx.Err() == nil {
			last = now
		}
		select {
		case <-ctx.Done():
			if whole.Err() != nil {
				return fmt.Errorf("interrupted while waiting for: %s: %w", what, context.Cause(whole))
			}
			return fmt.Errorf("waited %v for: %s; last seen: %s", limit, what, last)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Contains checks that an output has every part.
func Contains(output string, parts ...string) error {
	for _, part := range parts {
		if !strings.Contains(output, part) {
			return fmt.Errorf("%q is not in:\n%s", part, output)
		}
	}
	return nil
}

// PodRuns waits until a single pod runs.
func (s *Scene) PodRuns(ctx context.Context, name string) error {
	return s.Eventually(ctx, "pod "+name+" runs", func(ctx context.Context) (bool, string) {
		pod, err := s.Client.CoreV1().Pods(s.NS).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return pod.Status.Phase == corev1.PodRunning, string(pod.Status.Phase)
	})
}

// Reservation reads what the ledger wrote on a Job.
func Reservation(j *batchv1.Job) (demand.Reservation, error) {
	var r demand.Reservation
	text, ok := j.Annotations[policies.AnnotationReservation]
	if !ok {
		return r, fmt.Errorf("%s carries no reservation", j.Name)
	}
	return r, json.Unmarshal([]byte(text), &r)
}
